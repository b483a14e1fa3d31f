// SPDX-License-Identifier: Apache-2.0

// Directory trees.
#ifndef CLINUX_TREE_H
#define CLINUX_TREE_H

/// Removes a directory and all that is in it, following no link. What cannot be removed stays.
void clinux_remove_tree(const char *_Nonnull path);

/// Exchanges the names of two files or folders of one file system; -1 with `errno` when that fails.
int clinux_exchange(const char *_Nonnull one, const char *_Nonnull other);

#endif
