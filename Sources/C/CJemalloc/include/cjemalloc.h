// SPDX-License-Identifier: Apache-2.0

// The allocator of the command (docs/decisions/0018-the-allocator.md). Linking is sufficient: callers of malloc need no change.
#ifndef CARREL_CJEMALLOC_H
#define CARREL_CJEMALLOC_H

/// jemalloc's options (jemalloc(3), TUNING), which it finds by this name.
extern const char *_Nonnull malloc_conf;

#endif
