// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelFiles
import CarrelHome
import CarrelServer
import Glibc

/// The file that marks a home's state as being in PostgreSQL, so that no command creates a second, empty catalog.
struct DatabaseMarker {
    private let path: String

    init(_ home: Home) { path = home.databaseNotePath }

    /// The server and the name of the database; nil if the state is in the home.
    var place: String? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 1024)
        guard unsafe fgets(&line, Int32(line.count), file) != nil else { return "PostgreSQL" }
        let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? "PostgreSQL" : text
    }

    /// - Throws: ``UsageError`` if the state is in PostgreSQL.
    func requireEmbedded() throws(UsageError) {
        guard let place else { return }
        throw UsageError(
            .contradiction,
            "this home keeps its state in PostgreSQL, at \(place)",
            hint: "give it with --database or CARREL_DATABASE; to start with an empty database in the home, remove \(path)"
        )
    }

    /// Records the database's address, without its user and password.
    func write(_ address: String) throws(ServerError) {
        guard place == nil else { return }
        guard let file = unsafe fopen(path, "we") else {
            throw ServerError(.home, "cannot write \(path): \(systemReason())")
        }
        unsafe fputs(Self.place(of: address) + "\n", file)
        guard unsafe fclose(file) == 0 else { throw ServerError(.home, "cannot write \(path): \(systemReason())") }
    }

    /// `host:port/name` of a `postgres://` address.
    static func place(of address: String) -> String {
        let body = address.split(separator: "://", maxSplits: 1).last ?? ""
        let plain = body.prefix { $0 != "?" && $0 != "#" }
        return String(plain.split(separator: "@").last ?? plain)
    }
}
