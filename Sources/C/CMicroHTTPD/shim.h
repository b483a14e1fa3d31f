// SPDX-License-Identifier: Apache-2.0

// libmicrohttpd's variadic functions, which Swift does not see.
#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/// A report in the library's messages, before it ends a request without our callbacks.
enum cmhd_refusal {
    /// The library responds to a request.
    CMHD_REFUSED,
    /// The library responds to a request whose Content-Length it cannot read.
    CMHD_REFUSED_LENGTH,
    /// The memory of a connection has no room for the head of our response: the connection is about to complete without it.
    CMHD_NO_ROOM,
};

/// The callbacks and limits of a daemon. Strings may be NULL: no TLS.
struct cmhd_settings {
    void *_Nonnull context;
    MHD_AccessHandlerCallback _Nonnull access;
    MHD_RequestCompletedCallback _Nonnull completed;
    MHD_NotifyConnectionCallback _Nonnull connection;
    void *_Nullable (*_Nonnull target)(void *_Nullable, const char *_Nullable, struct MHD_Connection *_Nullable);
    /// Called on the daemon's thread, before the connection's own callbacks.
    void (*_Nonnull refused)(void *_Nonnull, enum cmhd_refusal);
    size_t connection_memory;
    unsigned int connection_limit;
    const char *_Nullable tls_key;
    const char *_Nullable tls_certificate;
    const char *_Nullable tls_priorities;
};

/// Leaves escapes alone: paths and queries are decoded once, by us.
static inline size_t cmhd_keep_escapes(void *_Nullable context, struct MHD_Connection *_Nullable connection, char *_Nullable text) {
    (void)context;
    (void)connection;
    return text ? strlen(text) : 0;
}

/// Ends a query after its question mark. The library then splits no parameters, which would each take memory of the connection, and
/// whose error it ignores: a request with more of them than fit would wait without end.
///
/// Only in the target callback, with its text, which lies in the connection's own buffer.
static inline void cmhd_hide_query(const char *_Nonnull target) {
    char *mark = strchr((char *)target, '?');
    if (mark && mark[1]) mark[1] = 0;
}

/// Receives the library's messages. Before it responds to a request by itself, it logs that, and first the reason.
static inline void cmhd_hear(void *_Nullable context, const char *_Nullable format, va_list arguments) {
    const struct cmhd_settings *settings = context;
    // "Failed to parse `Content-Length' header", "Too large value of 'Content-Length' header"
    if (!settings || !format) return;
    if (strstr(format, "Content-Length' header")) settings->refused(settings->context, CMHD_REFUSED_LENGTH);
    if (strstr(format, "Error processing request")) settings->refused(settings->context, CMHD_REFUSED);
    if (strcmp(format, "%s\n") == 0) {  // a text that says why a connection is closed
        const char *text = va_arg(arguments, const char *);
        if (text && strstr(text, "failed to create response header")) settings->refused(settings->context, CMHD_NO_ROOM);
    }
}

/// Starts a daemon with one internal thread, to which connections are passed. The settings must not move while it runs.
static inline struct MHD_Daemon *_Nullable cmhd_start(const struct cmhd_settings *_Nonnull s) {
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
                         MHD_USE_ERROR_LOG;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)cmhd_hear, (void *)s},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)s->completed, s->context},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)s->connection, s->context},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)s->target, s->context},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)cmhd_keep_escapes, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)s->connection_memory, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)s->connection_limit, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, 0, NULL},
        {MHD_OPTION_END, 0, NULL},  // TLS, when there is a key
        {MHD_OPTION_END, 0, NULL},
        {MHD_OPTION_END, 0, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    if (s->tls_key) {
        flags |= MHD_USE_TLS;
        options[8] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)s->tls_key};
        options[9] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)s->tls_certificate};
        options[10] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)s->tls_priorities};
    }
    return MHD_start_daemon(flags, 0, NULL, NULL, s->access, s->context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// Gives an accepted socket to a daemon, which closes it in the end, also when it does not want it.
static inline enum MHD_Result cmhd_add(struct MHD_Daemon *_Nonnull daemon, int descriptor) {
    struct sockaddr_storage name = {.ss_family = AF_UNIX};
    socklen_t length = sizeof name;
    getpeername(descriptor, (struct sockaddr *)&name, &length);
    return MHD_add_connection(daemon, descriptor, (struct sockaddr *)&name, length);
}

/// The socket of a connection.
static inline int cmhd_descriptor(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// Bytes from the method to the end of the header; 0 before that has come.
static inline size_t cmhd_header_size(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// Sends bytes directly, as many as the socket accepts; through its TLS session if there is one. Only on the daemon's thread.
static inline ssize_t cmhd_send(struct MHD_Connection *_Nonnull connection, const void *_Nullable bytes, size_t count) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info) return send(cmhd_descriptor(connection), bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    return gnutls_record_send((gnutls_session_t)info->tls_session, bytes, count);
}

/// A certificate with its key, and the authorities of the clients that it is for. All texts are in PEM and end with a NUL.
///
/// NULL when the texts cannot be used.
static inline gnutls_certificate_credentials_t _Nullable cmhd_credentials(
    const char *_Nonnull chain, const char *_Nonnull key, const char *_Nonnull trust) {
    gnutls_certificate_credentials_t made = NULL;
    if (gnutls_certificate_allocate_credentials(&made) < 0) return NULL;
    gnutls_datum_t certificate = {(unsigned char *)chain, (unsigned int)strlen(chain)};
    gnutls_datum_t secret = {(unsigned char *)key, (unsigned int)strlen(key)};
    gnutls_datum_t authorities = {(unsigned char *)trust, (unsigned int)strlen(trust)};
    if (gnutls_certificate_set_x509_key_mem(made, &certificate, &secret, GNUTLS_X509_FMT_PEM) < 0 ||
        gnutls_certificate_set_x509_trust_mem(made, &authorities, GNUTLS_X509_FMT_PEM) < 1) {
        gnutls_certificate_free_credentials(made);
        return NULL;
    }
    return made;
}

/// Sets separate credentials for a connection whose handshake has not begun, and requests an optional client certificate. The
/// credentials must live as long as the connection.
static inline bool cmhd_use(struct MHD_Connection *_Nonnull connection, gnutls_certificate_credentials_t _Nonnull credentials) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info || !info->tls_session) return false;
    gnutls_session_t session = (gnutls_session_t)info->tls_session;
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) < 0) return false;
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    return true;
}

/// The client's certificate in DER, which lives as long as the session; NULL without one. `status` is 0 if the authorities of the
/// connection's credentials verify it now.
static inline const unsigned char *_Nullable cmhd_peer_certificate(
    struct MHD_Connection *_Nonnull connection, size_t *_Nonnull count, unsigned int *_Nonnull status) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    *count = 0;
    *status = GNUTLS_CERT_INVALID;
    if (!info || !info->tls_session) return NULL;
    gnutls_session_t session = (gnutls_session_t)info->tls_session;
    unsigned int length = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &length);
    if (!list || length == 0) return NULL;
    *count = list[0].size;
    if (gnutls_certificate_type_get2(session, GNUTLS_CTYPE_PEERS) != GNUTLS_CRT_X509) return list[0].data;
    if (gnutls_certificate_verify_peers2(session, status) < 0) *status = GNUTLS_CERT_INVALID;
    return list[0].data;
}

/// The value that the connection callback stored for a connection.
static inline void *_Nullable cmhd_context(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

#endif
