// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

int clinux_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

void clinux_remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
