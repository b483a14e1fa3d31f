// SPDX-License-Identifier: Apache-2.0

// Sockets: listening, accepting, who is at the other end, and waiting for many of them.
#ifndef CLINUX_SOCKETS_H
#define CLINUX_SOCKETS_H

#include <stdint.h>

/// A numeric address: 4 bytes, 16 bytes, or none for a Unix socket. An IPv4 address mapped into IPv6 is given as IPv4.
struct clinux_address {
    uint8_t bytes[16];
    int length;
    uint16_t port;
};

/// Reads a numeric IPv4 or IPv6 address. Returns 0 or an errno value.
int clinux_parse_address(const char *_Nonnull text, struct clinux_address *_Nonnull address);

/// A TCP socket bound to the address and listening, or minus an errno value. Port 0 takes any free port.
int clinux_listen_tcp(const struct clinux_address *_Nonnull address, int backlog);

/// A Unix socket bound to the path (which must not exist), usable by its owner alone, and listening, or minus an errno value.
int clinux_listen_unix(const char *_Nonnull path, int backlog);

/// Whether something listens on the Unix socket at the path: 1, 0, or minus an errno value.
int clinux_unix_answers(const char *_Nonnull path);

/// The next connection of a listening socket, closed on exec and not blocking, or minus an errno value.
int clinux_accept(int descriptor);

/// The socket's own address (`ours`) or its peer's. Returns 0 or an errno value.
int clinux_socket_address(int descriptor, int ours, struct clinux_address *_Nonnull address);

/// The user at the other end of a Unix socket, or minus an errno value.
int64_t clinux_peer_user(int descriptor);

/// A socket of this machine that a process holds.
struct clinux_loopback_socket {
    /// Unique until the machine restarts.
    uint64_t cookie;
    /// The user whose process made it.
    uint32_t user;
    /// As in the links of /proc/PID/fd.
    uint32_t inode;
};

/// A socket for questions to the kernel about sockets (sock_diag(7)), or minus an errno value.
int clinux_diagnosis(void);

/// The other end of a TCP connection of this machine over IPv4. One caller at a time for each such socket; each query needs a new
/// sequence number. Returns 0 or an errno value: ENOENT if no process holds it anymore.
int clinux_loopback_peer(int diagnosis, uint32_t sequence, const struct clinux_address *_Nonnull theirs, const struct clinux_address *_Nonnull ours,
                         struct clinux_loopback_socket *_Nonnull out);

/// A number that changes whenever the peer reads bytes: the acknowledged bytes (TCP) or the pending bytes (Unix).
uint64_t clinux_send_progress(int descriptor);

/// Bytes that came and were not read.
int clinux_unread(int descriptor);

/// Bytes that were sent and not acknowledged, or wait to be sent.
int clinux_send_waiting(int descriptor);

/// Bytes that the peer has sent so far (TCP), or 0.
uint64_t clinux_received(int descriptor);

/// An epoll that closes on exec, or minus an errno value.
int clinux_epoll(void);

/// Watches for bytes to read (`reading`), or only for the peer hanging up (reported once). Returns 0 or an errno value.
int clinux_epoll_add(int epoll, int descriptor, int reading, uint64_t tag);

/// Ends a watch.
void clinux_epoll_remove(int epoll, int descriptor);

/// Waits at most `timeout` milliseconds (-1: forever) and stores the tags of up to `count` descriptors. Returns how many.
int clinux_epoll_wait(int epoll, uint64_t *_Nonnull tags, int count, int timeout);

#endif
