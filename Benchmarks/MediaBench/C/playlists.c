// SPDX-License-Identifier: Apache-2.0

#include "playlists.h"

#include <libxml/parser.h>
#include <string.h>

size_t loop_playlist_lines(const char *text, size_t size, size_t *tags) {
    const char *end = text + size;
    size_t lines = 0;
    *tags = 0;
    while (text < end) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        const char *stop = next ? next : end;
        if (stop > text) {
            lines += 1;
            *tags += text[0] == '#';
        }
        text = next ? next + 1 : end;
    }
    return lines;
}

static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int namespace_count,
                          const xmlChar **namespaces, int attribute_count, int defaulted_count, const xmlChar **attributes) {
    (void)name, (void)prefix, (void)uri, (void)namespace_count, (void)namespaces, (void)defaulted_count, (void)attributes;
    size_t *counts = context;
    counts[0] += 1;
    counts[1] += (size_t)attribute_count;
}

size_t loop_sax(const char *text, size_t size, size_t *attributes) {
    size_t counts[2] = {0, 0};
    xmlSAXHandler handler;
    memset(&handler, 0, sizeof handler);
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElementNs = start_element;
    if (xmlSAXUserParseMemory(&handler, counts, text, (int)size) != 0) return 0;
    *attributes = counts[1];
    return counts[0];
}
