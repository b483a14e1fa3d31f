// SPDX-License-Identifier: Apache-2.0

#include "client_loops.h"

#include <curl/curl.h>
#include <unistd.h>

static size_t count_bytes(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    *(long *)context += (long)(size * count);
    return size * count;
}

long loop_requests(const char *url, int count, int parallel) {
    long total = 0;
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 32L);
    int begun = 0, failed = 0, running = 0, left;
    for (; begun < parallel && begun < count; begun++) {
        CURL *easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, &total);
        curl_multi_add_handle(multi, easy);
    }
    do {
        curl_multi_perform(multi, &running);
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &left))) {
            CURL *easy = message->easy_handle;
            failed |= message->data.result != CURLE_OK;
            curl_multi_remove_handle(multi, easy);
            if (begun < count) {
                curl_multi_add_handle(multi, easy);
                begun++;
                running++;
            } else {
                curl_easy_cleanup(easy);
            }
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    } while (running);
    curl_multi_cleanup(multi);
    return failed ? -1 : total;
}

struct place {
    int descriptor;
    long offset;
};

static size_t write_bytes(char *bytes, size_t size, size_t count, void *context) {
    struct place *place = context;
    ssize_t wrote = pwrite(place->descriptor, bytes, size * count, place->offset);
    if (wrote > 0) place->offset += wrote;
    return wrote > 0 ? (size_t)wrote : 0;
}

long loop_download(const char *url, int descriptor) {
    struct place place = {descriptor, 0};
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L << 10);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &place);
    CURLcode result = curl_easy_perform(easy);
    curl_easy_cleanup(easy);
    return result == CURLE_OK ? place.offset : -1;
}
