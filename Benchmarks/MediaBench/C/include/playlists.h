// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

/// Finds the lines of a playlist; returns those that are not empty, and how many of them are tags or comments.
size_t loop_playlist_lines(const char *text, size_t size, size_t *tags);

/// One pass of libxml2's SAX2 parser; returns the numbers of elements and of their attributes.
size_t loop_sax(const char *text, size_t size, size_t *attributes);
