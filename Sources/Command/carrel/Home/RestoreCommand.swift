// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelRestoring
import CarrelServer
import CarrelStore
import Glibc

struct RestoreCommand: HomeCommand {
    var options = HomeOptions()
    var path: String?
    var isDatabaseRestored = false
    var replaced: String?

    static let name = "restore"
    static let abstract = "Restore the database from a backup."
    static let discussion = """
        Stop all servers first. The backup is checked: a damaged one, or one of another home, changes nothing. The replaced database is \
        kept beside it, with the suffix '.before-restore'. All sessions, links, app passwords, tickets, credentials and tokens end, because \
        some may have been revoked after the backup. Players, certificates, revocations, redemptions, licenses, keys and authorities are \
        carried over from the replaced database if it can be read, and devices accept the restored server. The command lists what ended, \
        what was carried over, and what else the replaced database recorded since; repeat what still applies.

        On PostgreSQL, restore with pg_restore into a new database, then run this command once for all nodes with --database-restored and \
        --replaced.
        """
    static let examples = [
        Example("carrel restore /mnt/backup/carrel-2026-01-31.db", "Restores a file that 'carrel backup' wrote."),
        Example(
            "carrel restore --database-restored --database postgres://db/carrel --replaced postgres://db/carrel_old",
            "Finishes a restore that pg_restore made."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.path, "file", help: "A file that 'carrel backup' wrote."),
            .flag(
                \.isDatabaseRestored,
                "--database-restored",
                help: "The database was restored by another tool: do what remains."
            ),
            .option(
                \.replaced,
                "--replaced",
                value: "connection",
                help: "The replaced database, an address of PostgreSQL or a file: with --database-restored."
            ),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard (path == nil) == isDatabaseRestored, replaced == nil || isDatabaseRestored else {
            throw UsageError(.contradiction, "name a backup, or --database-restored after another tool's restore")
        }
        let home = try options.find(missing: isDatabaseRestored ? .refuse : .create)
        if !isDatabaseRestored {
            try options.requireEmbedded("run pg_restore, then 'carrel restore --database-restored'", home)
        }
        let isNew = !home.isMade
        guard !HomeClient.accepts(home.socketPath) else {
            throw ServerError(.conflict, "a server runs on this home: stop it first")
        }
        let restored: CarrelService.Restored
        if let path {
            restored = try await CarrelService.restore(home, from: path)
        } else {
            restored = try await finish(home)
        }
        if isNew { console.note("created a home at \(home.directory)") }
        // The first start signs with the new numbers and seals the entry; without the master key, that is the next start.
        if !restored.needsMasterKey { await (try? HomeClient(options))?.seal() }
        if options.json { console.print(json(restored)) } else { show(restored, console) }
        guard !restored.needsMasterKey else {
            throw ServerError(
                .masterKey,
                "the database is restored, but \(home.masterKeyPath) is missing: nothing works until your separate copy is there"
            )
        }
    }

    private func finish(_ home: Home) async throws -> CarrelService.Restored {
        let database = try await options.openDatabase()
        do {
            let old = try await openReplaced()
            let restored: CarrelService.Restored
            do {
                restored = try await CarrelService.finishRestore(home, database, replaced: old)
            } catch {
                await old?.close()
                throw error
            }
            await old?.close()
            await database.close()
            return restored
        } catch {
            await database.close()
            throw error
        }
    }

    private func openReplaced() async throws -> (any Database)? {
        guard let replaced else { return nil }
        if replaced.contains("://") { return try await HomeOptions.openPostgres(replaced) }
        guard unsafe access(replaced, R_OK) == 0 else {
            throw UsageError(.badValue, "\(replaced) is not there or cannot be read")
        }
        return try SQLiteDatabase(path: replaced, migrations: Schema.migrations)
    }

    private func json(_ restored: CarrelService.Restored) -> JSON {
        var object: JSONObject = [
            "restored": path.map { .string($0) } ?? .null, "backupTime": .string(restored.backupTime.description),
            "sessions": .integer(restored.ended.sessions),
            "links": .integer(restored.ended.links), "appPasswords": .integer(restored.ended.appPasswords),
            "kept": restored.kept.map { .string($0) } ?? .null,
            "recordedSince": restored.lost.map { JSON.array($0.map(Self.json)) } ?? .null,
            "masterKeyMissing": .bool(restored.needsMasterKey),
        ]
        let ended = restored.ended
        object["ended"] = [
            "sessions": .integer(ended.sessions), "links": .integer(ended.links), "appPasswords": .integer(ended.appPasswords),
            "serviceKeys": .integer(ended.serviceKeys), "communicationKeys": .integer(ended.communicationKeys), "tickets": "all",
            "credentials": "all", "tokens": "all", "licenseMessages": "all",
        ]
        object["carriedOver"] = .null
        if let carried = restored.carriedOver {
            var list: JSONObject = [:]
            for (name, count) in carried.sorted(by: { $0.key < $1.key }) { list[name] = .integer(count) }
            object["carriedOver"] = .object(list)
        }
        object["carriedOverProblem"] = restored.problem.map { .string($0) } ?? .null
        return .object(object)
    }

    private func show(_ restored: CarrelService.Restored, _ console: Console) {
        let ended = restored.ended
        console.print("restored \(path ?? "the database"), which ends at \(restored.backupTime)")
        console.print(
            "ended: sessions \(ended.sessions), links \(ended.links), app passwords \(ended.appPasswords), all tickets and credentials"
        )
        console.print(
            "ended with their secrets: all tokens and license messages of this server, also those that were sold before the backup"
        )
        if ended.serviceKeys + ended.communicationKeys > 0 {
            console.print(
                "ended, as in the replaced database: back-office keys \(ended.serviceKeys), communication keys \(ended.communicationKeys)"
            )
        }
        if let carried = restored.carriedOver {
            let list = carried.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            console.print("carried over from the replaced database: \(list.joined(separator: ", "))")
            if let problem = restored.problem {
                console.warning(
                    "not all was carried over from the replaced database: \(problem)",
                    hint: "revoke players, licenses and keys again whose revocation is missing"
                )
            }
        } else {
            console.print(
                "nothing was carried over\(restored.problem.map { " from the replaced database: \($0)" } ?? ""): revocations and rotations of "
                    + "keys after the backup are lost; 'carrel pki import-root' recovers a rotated root, and devices that were "
                    + "personalized after the backup get a new id"
            )
        }
        if let kept = restored.kept { console.print("kept the replaced database as \(kept)") }
        if isDatabaseRestored {
            console.print("on every other node, remove the file audit.head of its home before the start")
        }
        guard restored.kept != nil || replaced != nil else { return }
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

    private static func json(_ entry: AuditEntry) -> JSON {
        [
            "at": .string(entry.at.description), "action": .string(entry.action), "subject": .string(entry.subject),
            "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.reason),
        ]
    }
}
