// SPDX-License-Identifier: Apache-2.0

// The web pages' files, inside the binary. Everything under assets/ is here; the table is in cweb.c.
#ifndef CWEB_H
#define CWEB_H

#include <stddef.h>

struct cweb_asset {
    const char *_Nonnull name;            // as in /assets/NAME
    const char *_Nonnull media_type;
    const unsigned char *_Nonnull bytes;  // static
    size_t count;
};

/// The number of files.
size_t cweb_count(void);

/// The file at `index`, which is less than `cweb_count()`.
struct cweb_asset cweb_at(size_t index);

#endif
