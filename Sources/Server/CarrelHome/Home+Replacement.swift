// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import CarrelStore
import Glibc

// Replacing the database of a home.
extension Home {
    /// A name for the replaced database that none of its files has.
    package func freePlace() throws(ServerError) -> String {
        let place = replacedDatabasePaths.first { path in
            ["", "-wal", "-shm"].allSatisfy { unsafe access(path + $0, F_OK) != 0 }
        }
        guard let place else {
            throw ServerError(
                .home,
                "\(replacedDatabasePaths.count) databases of earlier restores are kept in \(directory): delete those that you "
                    + "do not need"
            )
        }
        return place
    }

    /// Links the home's database under a second name, which remains when the backup takes the first. If the file system has hard
    /// links, the home never lacks a database.
    package func putDatabaseAside(as path: String) throws {
        guard unsafe link(databasePath, path) == 0 || rename(databasePath, path) == 0 else {
            throw ServerError(.home, "cannot keep \(databasePath) as \(path): \(systemReason())")
        }
        // If opening failed they still exist, and contain the last commits. They must never be applied to the backup.
        for suffix in ["-wal", "-shm"] { unsafe rename(databasePath + suffix, path + suffix) }
        try syncFolder(of: path)
    }

    /// Undoes what ``putDatabaseAside(as:)`` did, however far it came.
    package func bringDatabaseBack(from kept: String) {
        for suffix in ["-wal", "-shm"] { unsafe rename(kept + suffix, databasePath + suffix) }
        if unsafe link(kept, databasePath) == 0 || errno == EEXIST {
            unsafe unlink(kept)
        } else {
            unsafe rename(kept, databasePath)
        }
    }

    /// Removes a database with the files next to it.
    package static func removeDatabase(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unsafe unlink(path + suffix) }
    }

    /// Copies a database file, durably.
    ///
    /// - Throws: ``ServerError`` `notFound`, or `home` if the copy cannot be written; nothing is left of it then.
    package static func copyDatabase(_ source: String, to target: String) throws {
        let input = unsafe Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw ServerError(.notFound, "\(source) cannot be read: \(systemReason())") }
        defer { close(input) }
        let output = unsafe Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw ServerError(.home, "cannot write \(target): \(systemReason())") }
        defer { close(output) }
        while true {
            let count = sendfile(output, input, nil, 1 << 26)
            if count == 0 { break }
            guard count > 0 else {
                let failure = systemReason()
                unsafe unlink(target)
                throw ServerError(.home, "cannot write \(target): \(failure)")
            }
        }
        guard fsync(output) == 0 else { throw ServerError(.home, "cannot write \(target): \(systemReason())") }
    }
}
