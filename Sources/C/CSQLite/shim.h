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

#endif
