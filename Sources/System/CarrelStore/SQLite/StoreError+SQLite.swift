// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

extension StoreError {
    /// The error for SQLite's result code `status` of connection `handle`.
    ///
    /// SQLite's own message names tables, columns and the statement's text, never a bound value.
    init(sqlite status: Int32, of handle: OpaquePointer) {
        let message = unsafe String(cString: sqlite3_errmsg(handle))
        switch status & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "another writer held the database too long")
        case SQLITE_FULL:
            self.init(.full, "the disk is full")
        case SQLITE_IOERR where unsafe Self.isFull(csqlite_last_errno(handle)):
            self.init(.full, "the disk or a quota is full")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            self.init(.corrupt, message)
        case SQLITE_CONSTRAINT:
            self.init(Self.constraint(status), message)
        case SQLITE_READONLY:
            self.init(.readOnly, message)
        case SQLITE_ERROR, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_AUTH:
            self.init(.statement, message)
        default:
            self.init(.unavailable, "\(message) (SQLite code \(status))")
        }
    }

    private static func constraint(_ status: Int32) -> Code {
        switch status >> 8 {
        case 3: .foreignKey  // SQLITE_CONSTRAINT_FOREIGNKEY
        case 6, 8, 10: .unique  // …_PRIMARYKEY, …_UNIQUE, …_ROWID
        default: .check
        }
    }

    /// Whether `number` is an error number for "no room".
    static func isFull(_ number: Int32) -> Bool {
        number == ENOSPC || number == EDQUOT || number == EFBIG
    }
}
