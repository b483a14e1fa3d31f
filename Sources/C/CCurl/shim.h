// SPDX-License-Identifier: Apache-2.0

// libcurl. One importer: CarrelHTTPClient. Its option and information calls are variadic, which Swift does not see.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>

static inline CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl copies the text, but for CURLOPT_POSTFIELDS, which is not set here.
static inline CURLcode ccurl_set_text(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl copies the bytes.
static inline CURLcode ccurl_set_bytes(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static inline CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*ccurl_data)(char *_Nonnull bytes, size_t size, size_t count, void *_Nonnull context);
typedef int (*ccurl_seek)(void *_Nonnull context, curl_off_t offset, int origin);
typedef curl_socket_t (*ccurl_socket)(void *_Nonnull context, curlsocktype purpose,
                                      const struct curl_sockaddr *_Nonnull address);

typedef int (*ccurl_prerequest)(void *_Nonnull context, char *_Nonnull peer, char *_Nonnull own, int peer_port, int own_port);

/// Header lines, body bytes, bytes to send, the socket for an address, and the connection before a request is sent on it are all
/// passed to functions with the same context.
static inline void ccurl_set_callbacks(CURL *_Nonnull easy, void *_Nullable context, ccurl_data _Nonnull head,
                                       ccurl_data _Nonnull body, ccurl_data _Nonnull upload, ccurl_seek _Nonnull seek,
                                       ccurl_socket _Nonnull open, ccurl_prerequest _Nullable judge) {
    curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, head);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(easy, CURLOPT_READDATA, context);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, upload);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, judge);
}

static inline CURLcode ccurl_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline void *_Nullable ccurl_get_private(CURL *_Nonnull easy) {
    char *value = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
    return value;
}

static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The next finished transfer and its result; null when there is none.
static inline CURL *_Nullable ccurl_multi_next_done(CURLM *_Nonnull multi, CURLcode *_Nonnull result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

/// The bytes of an Internet address in network order: 4, 16, or 0 when it is of another family.
static inline int ccurl_address_bytes(const struct curl_sockaddr *_Nonnull address, unsigned char *_Nonnull bytes) {
    if (address->family == AF_INET) {
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)&address->addr)->sin_addr, 4);
        return 4;
    }
    if (address->family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)&address->addr)->sin6_addr, 16);
        return 16;
    }
    return 0;
}

/// The bytes of a numeric address in network order: 4, 16, or 0 when it is none.
static inline int ccurl_parse_address(const char *_Nonnull text, unsigned char *_Nonnull bytes) {
    if (inet_pton(AF_INET, text, bytes) == 1) return 4;
    return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

static const size_t ccurl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t ccurl_write_error = CURL_WRITEFUNC_ERROR;
static const size_t ccurl_read_pause = CURL_READFUNC_PAUSE;
static const size_t ccurl_read_abort = CURL_READFUNC_ABORT;
static const long ccurl_global_default = CURL_GLOBAL_DEFAULT;

#endif
