// SPDX-License-Identifier: Apache-2.0

// The floor: the same SQLite calls in C, with nothing around them.
#ifndef STORE_LOOPS_H
#define STORE_LOOPS_H

/// Opens the file as the product does (write-ahead log, synchronous FULL) and makes the table of `schema`. Returns NULL on failure.
void *_Nullable store_loop_open(const char *_Nonnull path, const char *_Nonnull schema);

/// Inserts `batches` batches of `rows` rows with `insert`, `group` batches to a commit; numbers start at `first`.
/// Returns 0 on success.
int store_loop_insert(void *_Nonnull database, const char *_Nonnull insert, long first, int batches, int rows, int group);

/// Selects one row by key `times` times with `select`, each in a transaction of its own. Returns the rows found.
int store_loop_select(void *_Nonnull database, const char *_Nonnull select, long count, int times);

void store_loop_close(void *_Nonnull database);

#endif
