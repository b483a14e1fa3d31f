import CarrelCommandLine
import CarrelJSON
import CarrelServer
import CarrelStore
import Glibc

struct BackupCommand: Command {
    var options = HomeOptions()
    var path = ""

    static let name = "backup"
    static let abstract = "Copy the database while the server runs."
    static let discussion = """
        The copy is one file, checked when it is complete. It holds no master key: keep that apart, for without it no content \
        key in the backup can be unwrapped. The media are files that never change: copy the folder 'blobs' with any tool.
        """
    static let examples = [Example("carrel backup /mnt/backup/carrel-2026-01-31.db", "Writes one file.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.path, "file", help: "The file to write; it must not exist.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

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

struct RestoreCommand: Command {
    var options = HomeOptions()
    var path = ""

    static let name = "restore"
    static let abstract = "Put a backup of the database in place of the one that is there."
    static let discussion = """
        The server must not run. The backup is checked first; the database that is there is kept beside it, its name ending in \
        '.before-restore'.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.path, "file", help: "A file that 'carrel backup' wrote.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let home = try options.find(missing: .create)
        try options.requireEmbedded("PostgreSQL has its own tools: pg_restore", home)
        let isNew = !home.isMade
        guard !HomeClient.accepts(home.socketPath) else {
            throw ServerError(.conflict, "a server runs on this home: stop it first")
        }
        try await CarrelService.restore(home, from: path)
        if isNew { console.note("made a new home at \(home.directory)") }
        if options.json { return console.print(["restored": .string(path)]) }
        console.print("restored \(path)")
    }
}

extension HomeOptions {
    /// Refuses a command that is about the file in the home.
    fileprivate func requireEmbedded(_ hint: String, _ home: Home) throws(UsageError) {
        guard database == nil, DatabaseNote(home).place == nil else {
            throw UsageError(.contradiction, "this command is for the embedded database", hint: hint)
        }
    }
}
