// SPDX-License-Identifier: Apache-2.0

#include "store_loops.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

void *store_loop_open(const char *path, const char *schema) {
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0)) return 0;
    if (sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384", 0, 0, 0)) return 0;
    if (sqlite3_exec(db, schema, 0, 0, 0)) return 0;
    sqlite3_wal_autocheckpoint(db, 2048);
    return db;
}

static int run(sqlite3_stmt *statement) {
    int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status;
}

int store_loop_insert(void *db, const char *insert, long first, int batches, int rows, int group) {
    sqlite3_stmt *statement, *begin, *commit;
    if (sqlite3_prepare_v2(db, insert, -1, &statement, 0)) return 1;
    if (sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, 0)) return 1;
    if (sqlite3_prepare_v2(db, "COMMIT", -1, &commit, 0)) return 1;
    int failed = 0;
    for (int batch = 0; batch < batches; batch++) {
        if (batch % group == 0) failed |= run(begin) != SQLITE_DONE;
        char order[64];
        long number = first + batch;
        int length = snprintf(order, sizeof order, "4e5f6a7b-0c1d-4e2f-8a3b-%012ld", number % 1000);
        for (int row = 0; row < rows; row++) {
            sqlite3_bind_text(statement, 1, order, length, SQLITE_STATIC);
            sqlite3_bind_text(statement, 2, "1c6f0a52-8e7b-4d5e-9b1a-2f3c4d5e6f70", 36, SQLITE_STATIC);
            sqlite3_bind_int64(statement, 3, number * 100 + row);
            sqlite3_bind_int64(statement, 4, number * 100 + row + 1);
            sqlite3_bind_double(statement, 5, row * 10.25);
            sqlite3_bind_double(statement, 6, row * 10.25 + 10);
            failed |= run(statement) != SQLITE_DONE;
        }
        if (batch % group == group - 1 || batch == batches - 1) failed |= run(commit) != SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    return failed;
}

int store_loop_select(void *db, const char *select, long count, int times) {
    sqlite3_stmt *statement, *begin, *end;
    if (sqlite3_prepare_v2(db, select, -1, &statement, 0)) return 0;
    if (sqlite3_prepare_v2(db, "BEGIN", -1, &begin, 0)) return 0;
    if (sqlite3_prepare_v2(db, "ROLLBACK", -1, &end, 0)) return 0;
    int found = 0;
    for (int time = 0; time < times; time++) {
        run(begin);
        sqlite3_bind_int64(statement, 1, (long)time * 7919 % count);
        if (sqlite3_step(statement) == SQLITE_ROW) found += sqlite3_column_bytes(statement, 1) > 0;
        sqlite3_reset(statement);
        run(end);
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(begin);
    sqlite3_finalize(end);
    return found;
}

void store_loop_close(void *db) { sqlite3_close(db); }
