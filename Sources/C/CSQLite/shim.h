// SPDX-License-Identifier: Apache-2.0

// SQLite's C interface, and its variadic calls that Swift cannot see.
#ifndef CARREL_CSQLITE_H
#define CARREL_CSQLITE_H

#include <sqlite3.h>

/// sqlite3_db_config for the settings that take an on/off integer.
static inline int csqlite_db_config(sqlite3 *_Nonnull db, int setting, int on) {
    return sqlite3_db_config(db, setting, on, (int *)0);
}

/// Switches SQLite's memory statistics, which take a process-wide lock; only before the first connection.
static inline int csqlite_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

/// The error number of the last failed call on the database file or its log; 0 if there is none. sqlite3_system_errno may already
/// return the number of a later call.
static inline int csqlite_last_errno(sqlite3 *_Nonnull db) {
    int number = 0;
    sqlite3_file *log = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (!number) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number ? number : sqlite3_system_errno(db);
}

#endif
