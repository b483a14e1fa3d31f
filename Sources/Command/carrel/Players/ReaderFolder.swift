// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import Glibc

/// The folder of a reading app on this machine: its player, vault and licenses are in its folder `reader`.
struct ReaderFolder: ParameterGroup, Sendable {
    var home: String?
    var output = OutputOptions()

    static var parameters: [Parameter<ReaderFolder>] {
        [
            .option(
                \.home,
                "--home",
                value: "folder",
                help: "The reader's folder; default: carrel in the user's state folder.",
                group: "Reader",
                environment: "CARREL_READER_HOME",
                completion: .file
            )
        ] + Parameter.group(\.output)
    }

    var json: Bool { output.json }

    /// The path of the player's folder, whether or not it exists.
    func path() throws(UsageError) -> String {
        if let home { return "\(home)/reader" }
        if let state = Self.variable("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/carrel/reader" }
        guard let user = Self.variable("HOME") else { throw UsageError(.badValue, "neither --home nor HOME is set") }
        return "\(user)/.local/state/carrel/reader"
    }

    /// Returns the player's folder, and creates it if it is missing; other users have no access.
    func make() throws -> String {
        let path = try path()
        var part = path.hasPrefix("/") ? "" : "."
        for name in path.split(separator: "/") {
            part += "/\(name)"
            guard unsafe mkdir(part, 0o700) == 0 || errno == EEXIST else {
                throw UsageError(.badValue, "the folder \(part) cannot be created: \(unsafe String(cString: strerror(errno)))")
            }
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw UsageError(.badValue, "the folder \(path) is open to other users, or belongs to another one: chmod 700")
        }
        return path
    }

    static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
