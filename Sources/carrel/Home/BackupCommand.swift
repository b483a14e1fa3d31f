import CarrelAudit
import CarrelBytes
import CarrelCommandLine
import CarrelHome
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
        The copy is one file and is checked when complete. It contains no master key: back that up separately, because without it no content \
        key in the backup can be unwrapped. Media files never change: copy the folder 'blobs' with any tool.
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
    static let abstract = "Restore the database from a backup."
    static let discussion = """
        Stop the server first. The backup is checked: a damaged one, or one of another home, changes nothing. The replaced database is \
        kept beside it, with the suffix '.before-restore'. All sessions, links, app passwords, tickets and credentials end, because some \
        may have been revoked after the backup. The command lists what the replaced database recorded since; repeat what still applies.
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
        let restored = try await CarrelService.restore(home, from: path)
        if isNew { console.note("created a home at \(home.directory)") }
        // Without the master key the next start seals the entry.
        try? await HomeClient(options).seal()
        if options.json {
            let lost = restored.lost.map { JSON.array($0.map(Self.json)) } ?? .null
            return console.print([
                "restored": .string(path), "backupTime": .string(restored.backupTime.description),
                "sessions": .integer(restored.sessions),
                "links": .integer(restored.links), "appPasswords": .integer(restored.appPasswords),
                "kept": restored.kept.map { .string($0) } ?? .null, "recordedSince": lost,
            ])
        }
        console.print("restored \(path), which ends at \(restored.backupTime)")
        console.print(
            "ended: sessions \(restored.sessions), links \(restored.links), app passwords \(restored.appPasswords), all tickets and credentials"
        )
        guard let kept = restored.kept else { return }
        console.print("kept the replaced database as \(kept)")
        guard let lost = restored.lost else {
            return console.print("it cannot be opened: what it recorded since the backup is unknown")
        }
        guard !lost.isEmpty else { return console.print("since the backup it recorded nothing except issued credentials") }
        console.print("recorded since the backup, and missing in the restored database:")
        for entry in lost.prefix(Self.shown) { console.print("  \(entry.at) \(entry.action) \(entry.subject)") }
        if lost.count > Self.shown { console.print("  and \(lost.count - Self.shown) more: --json lists them") }
    }

    /// Entries that are shown at most.
    private static let shown = 100

    private static func json(_ entry: Audit.Entry) -> JSON {
        [
            "at": .string(entry.at.description), "action": .string(entry.action), "subject": .string(entry.subject),
            "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.reason),
        ]
    }
}

extension HomeOptions {
    /// Refuses a command that is about the file in the home.
    fileprivate func requireEmbedded(_ hint: String, _ home: Home) throws(UsageError) {
        guard database == nil, DatabaseMarker(home).place == nil else {
            throw UsageError(.contradiction, "this command is for the embedded database", hint: hint)
        }
    }
}
