// SPDX-License-Identifier: Apache-2.0

// The allocator of the command (docs/decisions/0018-the-allocator.md). Linking is all: what asks for memory does not know it.
#ifndef CARREL_CJEMALLOC_H
#define CARREL_CJEMALLOC_H

/// How jemalloc is set, in its own words (jemalloc(3), TUNING); it finds this by its name.
extern const char *_Nonnull malloc_conf;

#endif
