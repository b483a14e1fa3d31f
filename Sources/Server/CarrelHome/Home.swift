// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import Glibc

/// The environment that a home serves: each has its own database, keys and media, and ids of one are meaningless in the other.
package enum ServiceEnvironment: String, Sendable, CaseIterable {
    case live
    case qa
}

/// The folder with all data of a server: database, media, master key, control socket.
///
/// The folder and all in it belong to one user and are closed to others (0700). The qa environment has a separate folder inside
/// the home.
package struct Home: Sendable {
    /// The folder of this environment's files.
    package let directory: String
    package let environment: ServiceEnvironment

    /// The treatment of what a home lacks: its folders, its database, the master key of a new database.
    package enum Missing: Sendable {
        /// A missing home is an error.
        case refuse
        /// A missing home is created.
        case create
    }

    /// Finds a home. Nothing on disk changes.
    ///
    /// - Parameters:
    ///   - path: the home; `~` is not expanded here.
    ///   - environment: live data are in the home itself, qa data in its folder `qa`.
    ///   - missing: `create` where ``make()`` is going to create the folder.
    /// - Throws: ``ServerError`` `homeMissing` if the folder is missing, `home` when it cannot be used.
    package init(
        at path: String,
        environment: ServiceEnvironment = .live,
        missing: Missing = .refuse
    ) throws(ServerError) {
        let root = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.environment = environment
        directory = environment == .live ? root : "\(root)/\(environment.rawValue)"
        if missing == .refuse { try requireFolder(root) }
    }

    /// Creates the folders of the home if they are missing.
    ///
    /// - Throws: ``ServerError`` `home` if a folder cannot be created or used.
    package func make() throws(ServerError) {
        try Self.makeDirectories(directory)
    }

    /// Whether the home has state: a database in its folder, or the note of a database elsewhere.
    package var isMade: Bool { unsafe hasDatabase || access(databaseNotePath, F_OK) == 0 }

    /// Whether the embedded database is there and not empty.
    package var hasDatabase: Bool {
        var status = stat()
        return unsafe stat(databasePath, &status) == 0 && status.st_size > 0
    }

    private func requireFolder(_ root: String) throws(ServerError) {
        if unsafe access(directory, F_OK) != 0, errno == ENOENT || errno == ENOTDIR {
            let isEnvironment = unsafe environment != .live && access(root, F_OK) == 0
            throw ServerError(
                .homeMissing,
                isEnvironment ? "the home \(root) has no environment '\(environment.rawValue)'" : "there is no home at \(root)"
            )
        }
        try Self.requireUsable(directory)
    }

    package var databasePath: String { "\(directory)/carrel.db" }
    /// The names under which databases are kept that a restore replaced, the first restore's first. The operator deletes them.
    package var replacedDatabasePaths: [String] {
        ["\(databasePath).before-restore"] + (2...9).map { "\(databasePath).before-restore-\($0)" }
    }
    /// The first database that a restore replaced and that is still there.
    package var replacedDatabasePath: String? { replacedDatabasePaths.first { unsafe access($0, F_OK) == 0 } }
    package var blobsPath: String { "\(directory)/blobs" }
    package var masterKeyPath: String { "\(directory)/master.key" }
    /// The lock held by the home's server, and by a command that replaces its database.
    package var lockPath: String { "\(directory)/carrel.lock" }
    package var socketPath: String { "\(directory)/carrel.sock" }
    /// The marker file that contains the address of an external database.
    package var databaseNotePath: String { "\(directory)/database" }
    /// The last seal of the audit log.
    package var auditHeadPath: String { "\(directory)/audit.head" }
    package var settingsPath: String { "\(directory)/carrel.conf" }
    /// The path of an upstream system's settings.
    package func upstreamSettingsPath(_ name: String) -> String { "\(directory)/upstream/\(name).conf" }
    /// The path of a relay's settings.
    package func relaySettingsPath(_ name: String) -> String { "\(directory)/relay/\(name).conf" }
    /// The names of the relays that have settings, in order.
    ///
    /// - Throws: ``ServerError`` `home` if the folder cannot be read.
    package func relayNames() throws(ServerError) -> [String] {
        let path = "\(directory)/relay"
        guard let folder = unsafe opendir(path) else {
            if errno == ENOENT { return [] }
            throw ServerError(.home, "cannot read the folder \(path): \(systemReason())")
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasSuffix(".conf"), !name.hasPrefix(".") { names.append(String(name.dropLast(5))) }
        }
        return names.sorted()
    }

    private static func makeDirectories(_ path: String) throws(ServerError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/\(part)"
            if unsafe mkdir(made, 0o700) != 0 && errno != EEXIST {
                throw ServerError(.home, "cannot create the folder \(made): \(systemReason())")
            }
        }
        try requireUsable(path)
    }

    private static func requireUsable(_ path: String) throws(ServerError) {
        guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
            throw ServerError(.home, "cannot use the folder \(path): \(systemReason())")
        }
    }
}
