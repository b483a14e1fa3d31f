// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int clinux_parse_address(const char *text, struct clinux_address *address) {
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, address->bytes) == 1) {
        address->length = 4;
    } else if (inet_pton(AF_INET6, text, address->bytes) == 1) {
        address->length = 16;
    } else {
        return EINVAL;
    }
    return 0;
}

static int listen_at(int family, const struct sockaddr *name, socklen_t length, int backlog) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    int on = 1;
    if (family != AF_UNIX) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor, name, length) || listen(descriptor, backlog)) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int clinux_listen_tcp(const struct clinux_address *address, int backlog) {
    if (address->length == 4) {
        struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(address->port)};
        memcpy(&name.sin_addr, address->bytes, 4);
        return listen_at(AF_INET, (struct sockaddr *)&name, sizeof name, backlog);
    }
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
    memcpy(&name.sin6_addr, address->bytes, 16);
    return listen_at(AF_INET6, (struct sockaddr *)&name, sizeof name, backlog);
}

static int unix_name(const char *path, struct sockaddr_un *name) {
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof name->sun_path) return ENAMETOOLONG;
    strcpy(name->sun_path, path);
    return 0;
}

int clinux_listen_unix(const char *path, int backlog) {
    struct sockaddr_un name;
    int error = unix_name(path, &name);
    if (error) return -error;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // The mode is set before anyone can connect: nothing is accepted until listen().
    if (bind(descriptor, (struct sockaddr *)&name, sizeof name) || chmod(path, 0600) || listen(descriptor, backlog)) {
        error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int clinux_unix_answers(const char *path) {
    struct sockaddr_un name;
    int error = unix_name(path, &name);
    if (error) return -error;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    int answers = connect(descriptor, (struct sockaddr *)&name, sizeof name) == 0 || errno == EAGAIN || errno == EINPROGRESS;
    close(descriptor);
    return answers;
}

int clinux_accept(int descriptor) {
    int accepted = accept4(descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return accepted < 0 ? -errno : accepted;
}

int clinux_socket_address(int descriptor, int ours, struct clinux_address *address) {
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    memset(address, 0, sizeof *address);
    if ((ours ? getsockname : getpeername)(descriptor, (struct sockaddr *)&name, &length)) return errno;
    if (name.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&name;
        address->length = 4;
        memcpy(address->bytes, &in->sin_addr, 4);
        address->port = ntohs(in->sin_port);
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&name;
        address->port = ntohs(in->sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)) {
            address->length = 4;
            memcpy(address->bytes, in->sin6_addr.s6_addr + 12, 4);
        } else {
            address->length = 16;
            memcpy(address->bytes, &in->sin6_addr, 16);
        }
    }
    return 0;
}

int64_t clinux_peer_user(int descriptor) {
    int domain = 0;
    socklen_t domain_length = sizeof domain;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &domain_length)) return -errno;
    if (domain != AF_UNIX) return -EAFNOSUPPORT;
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)) return -errno;
    if (credentials.uid == (uid_t)-1) return -ENODATA;
    return (int64_t)credentials.uid;
}

// Parses the kernel's response about one socket: its user, if it is connected and held by a process.
static int take_answer(const char *answer, ssize_t count, const struct inet_diag_sockid *asked, struct clinux_loopback_socket *out) {
    const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
    if (!NLMSG_OK(head, (size_t)count)) return EPROTO;
    if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
        return -((const struct nlmsgerr *)NLMSG_DATA(head))->error ?: EPROTO;
    if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return EPROTO;
    const struct inet_diag_msg *found = NLMSG_DATA(head);
    // a listener of the same port is another socket; the kernel reports root for a socket that no process holds anymore
    enum { established = 1, fin_wait_1 = 4, fin_wait_2 = 5, close_wait = 8 };
    int state = found->idiag_state;
    if (state != established && state != fin_wait_1 && state != fin_wait_2 && state != close_wait) return ENOENT;
    if (found->id.idiag_sport != asked->idiag_sport || found->id.idiag_dport != asked->idiag_dport) return ENOENT;
    if (!found->idiag_inode) return ENOENT;
    out->user = found->idiag_uid;
    out->inode = found->idiag_inode;
    out->cookie = (uint64_t)found->id.idiag_cookie[1] << 32 | found->id.idiag_cookie[0];
    return 0;
}

int clinux_diagnosis(void) {
    int descriptor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return -errno;
    // the kernel responds before the call returns: this limit is only a safeguard
    struct timeval patience = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return descriptor;
}

int clinux_loopback_peer(int diagnosis, uint32_t sequence, const struct clinux_address *theirs, const struct clinux_address *ours,
                         struct clinux_loopback_socket *out) {
    if (theirs->length != 4 || ours->length != 4) return EAFNOSUPPORT;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } question = {
        .head = {.nlmsg_len = sizeof question,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST,
                 .nlmsg_seq = sequence},
        .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    struct inet_diag_sockid *socket_id = &question.body.id;
    socket_id->idiag_sport = htons(theirs->port);
    socket_id->idiag_dport = htons(ours->port);
    memcpy(socket_id->idiag_src, theirs->bytes, 4);
    memcpy(socket_id->idiag_dst, ours->bytes, 4);
    memset(socket_id->idiag_cookie, 0xff, sizeof socket_id->idiag_cookie);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    _Alignas(struct nlmsghdr) char answer[1024];
    if (sendto(diagnosis, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) != sizeof question)
        return errno ?: EIO;
    for (;;) {
        ssize_t count = recv(diagnosis, answer, sizeof answer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        // an answer to an earlier question, whose call was cut off
        const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
        if (NLMSG_OK(head, (size_t)count) && head->nlmsg_seq != sequence) continue;
        return take_answer(answer, count, socket_id, out);
    }
}

uint64_t clinux_send_progress(int descriptor) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (!getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length)) return info.tcpi_bytes_acked;
    int waiting = 0;
    ioctl(descriptor, SIOCOUTQ, &waiting);
    return (uint64_t)waiting;
}

int clinux_send_waiting(int descriptor) {
    int waiting = 0;
    return ioctl(descriptor, SIOCOUTQ, &waiting) ? 0 : waiting;
}

int clinux_unread(int descriptor) {
    int waiting = 0;
    return ioctl(descriptor, SIOCINQ, &waiting) ? 0 : waiting;
}

uint64_t clinux_received(int descriptor) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) ? 0 : info.tcpi_bytes_received;
}

int clinux_epoll(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    return epoll < 0 ? -errno : epoll;
}

int clinux_epoll_add(int epoll, int descriptor, int reading, uint64_t tag) {
    struct epoll_event event = {.events = reading ? EPOLLIN : EPOLLRDHUP | EPOLLET, .data.u64 = tag};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) ? errno : 0;
}

void clinux_epoll_remove(int epoll, int descriptor) { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL); }

int clinux_epoll_wait(int epoll, uint64_t *tags, int count, int timeout) {
    struct epoll_event events[64];
    if (count > 64) count = 64;
    int found = epoll_wait(epoll, events, count, timeout);
    for (int i = 0; i < found; i++) tags[i] = events[i].data.u64;
    return found < 0 ? 0 : found;
}
