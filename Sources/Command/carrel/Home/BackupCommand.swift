// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore
import Glibc

struct BackupCommand: HomeCommand {
    var options = HomeOptions()
    var path = ""

    static let name = "backup"
    static let abstract = "Copy the database while the server runs."
    static let discussion = """
        The copy is one file and is checked when complete. It contains no master key: back that up separately, because without it no content \
        key in the backup can be unwrapped. Media files never change: copy the folder 'blobs' with any tool.
        """
    static let examples = [Example("carrel backup /mnt/backup/carrel-2026-01-31.db", "Writes one file.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.path, "file", help: "The file to write; it must not exist.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let home = try options.find()
        try options.requireEmbedded("PostgreSQL has its own tools: pg_dump", home)
        guard unsafe access(path, F_OK) != 0 else { throw ServerError(.conflict, "\(path) exists already") }
        let database = try CarrelService.openDatabase(home)
        try await database.backup(to: path)
        await database.close()
        if options.json { return console.print(["backup": .string(path)]) }
        console.print(path)
    }
}

extension HomeOptions {
    /// Refuses a command that is about the file in the home.
    func requireEmbedded(_ hint: String, _ home: Home) throws(UsageError) {
        guard database == nil, DatabaseMarker(home).place == nil else {
            throw UsageError(.contradiction, "this command is for the embedded database", hint: hint)
        }
    }
}
