// SPDX-License-Identifier: Apache-2.0

// Inserts batches of ten listening intervals into SQLite as the server's table has them, durable, 64 batches to a commit; prints
// how many batches in a second. Usage: loop FILE SECONDS
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void run(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, 0, 0, 0) != SQLITE_OK) {
        fprintf(stderr, "loop: %s\n", sqlite3_errmsg(database));
        exit(1);
    }
}

int main(int count, char **arguments) {
    sqlite3 *database;
    sqlite3_stmt *insert;
    if (count != 3 || sqlite3_open(arguments[1], &database) != SQLITE_OK) return 64;
    run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        "CREATE TABLE intervals (order_id TEXT NOT NULL, start_utc BIGINT NOT NULL, end_utc BIGINT NOT NULL,"
        " start_position BIGINT NOT NULL, end_position BIGINT NOT NULL, effective_end BIGINT NOT NULL, received_at BIGINT NOT NULL,"
        " end_position_ms BIGINT, device_id TEXT, device_name TEXT, speed DOUBLE PRECISION,"
        " PRIMARY KEY (order_id, start_utc, end_utc, start_position, end_position));"
        "CREATE INDEX intervals_by_latest ON intervals"
        " (order_id, effective_end, start_utc, end_position, end_utc, start_position)");
    sqlite3_prepare_v2(database, "INSERT INTO intervals (order_id, start_utc, end_utc, start_position, end_position, effective_end,"
        " received_at) VALUES (?1, ?2, ?3, ?4, ?5, ?3, ?6) ON CONFLICT DO NOTHING", -1, &insert, 0);
    double start = now(), end = start + atof(arguments[2]);
    long batches = 0, tick = 0;
    while (now() < end) {
        run(database, "BEGIN IMMEDIATE");
        for (int batch = 0; batch < 64; batch++, batches++) {
            char order[37];
            snprintf(order, sizeof order, "%08lx-0000-4000-8000-000000000000", random() % 1000);
            for (int i = 0; i < 10; i++, tick++) {
                sqlite3_bind_text(insert, 1, order, 36, SQLITE_STATIC);
                sqlite3_bind_int64(insert, 2, 1700000000000 + tick * 1000);
                sqlite3_bind_int64(insert, 3, 1700000001000 + tick * 1000);
                sqlite3_bind_int64(insert, 4, tick % 70000);
                sqlite3_bind_int64(insert, 5, tick % 70000 + 1);
                sqlite3_bind_int64(insert, 6, 1800000000000);
                if (sqlite3_step(insert) != SQLITE_DONE) return 1;
                sqlite3_reset(insert);
            }
        }
        run(database, "COMMIT");
    }
    printf("%.1f\n", batches / (now() - start));
    return 0;
}
