// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPostgres
import CarrelStore
import CarrelThreads
import Glibc
import StorePairs

/// Writes to a database and reports acknowledged writes on standard output, until it is killed: by itself, when told to.
///
/// `StoreCrashWriter write PATH|ADDRESS WRITERS MICROSECONDS [answered]`: pairs of rows, one more for each writer each time,
/// killed after MICROSECONDS, counted from its start or from the first acknowledgment. `StoreCrashWriter full PATH BYTES`: rows
/// with a file size limit of BYTES, then without it. `StoreCrashWriter fullgroup PATH BYTES`: one write larger than a file may
/// be, in a group with small ones. `StoreCrashWriter blobs PATH MICROSECONDS`: blobs, killed after MICROSECONDS.
/// `StoreCrashWriter fullblob PATH BYTES`: a blob larger than a file may be, then one without that limit.
@main
struct StoreCrashWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.count > 3 ? arguments[1] : "" {
        case "write":
            let isAfterAnswer = arguments.count > 5
            let delay = UInt32(arguments[4]) ?? 0
            if !isAfterAnswer { killLater(microseconds: delay) }
            try await writePairs(path: arguments[2], writers: Int(arguments[3]) ?? 1, killAfterAnswer: isAfterAnswer ? delay : 0)
        case "full": try await fillUp(path: arguments[2], limit: UInt(arguments[3]) ?? 0)
        case "fullgroup": try await fillGroup(path: arguments[2], limit: UInt(arguments[3]) ?? 0)
        case "blobs":
            killLater(microseconds: UInt32(arguments[3]) ?? 0)
            try writeBlobs(path: arguments[2])
        case "fullblob": try fillBlob(path: arguments[2], limit: UInt(arguments[3]) ?? 0)
        default:
            say("usage: see the source")
            exit(64)
        }
    }

    /// Kills this process with SIGKILL, from a dedicated thread; 0 means never.
    static func killLater(microseconds: UInt32) {
        guard microseconds > 0 else { return }
        startThread(name: "killer") {
            usleep(microseconds)
            kill(getpid(), SIGKILL)
        }
    }

    /// Writes a line with one system call, so that it is whole or not there.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }

    static func writePairs(path: String, writers: Int, killAfterAnswer: UInt32) async throws {
        let database: any Database =
            path.hasPrefix("postgres:")
            ? try PostgresDatabase(path, migrations: Pairs.migrations)
            : try SQLiteDatabase(path: path, migrations: Pairs.migrations)
        let answers = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    while true {
                        let number = try await database.write { try Pairs.add(writer: Int64(writer), to: $0) }
                        say("\(writer) \(number)")
                        let isFirst = answers.withLock { count in
                            count += 1
                            return count == 1
                        }
                        if isFirst { killLater(microseconds: killAfterAnswer) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    static func fillUp(path: String, limit: UInt) async throws {
        let database = try SQLiteDatabase(path: path, migrations: Pairs.migrations)
        limitFiles(to: limit)
        var number: Int64 = 0
        var refusal: StoreError?
        while refusal == nil {
            do {
                number = try await database.write { try Pairs.add(writer: 1, to: $0) }
            } catch let error as StoreError {
                refusal = error
            }
        }
        let kept = try await database.read { try Pairs.check($0) }
        let probed = await outcomes(of: 1) {
            try await database.probe()
            return 0
        }
        say("\(refusal?.code.identifier ?? "") after \(number), kept \(kept[1] ?? 0); probe \(probed)")
        limitFiles(to: .max)
        let next = try await database.write { try Pairs.add(writer: 1, to: $0) }
        try await database.probe()
        say("\(next == number + 1 ? "works again" : "lost \(number)")")
        await database.close()
    }

    static func fillGroup(path: String, limit: UInt) async throws {
        let database = try SQLiteDatabase(path: path, migrations: Pairs.migrations)
        limitFiles(to: limit)
        let (isHeld, isFree) = (Locked(false), Locked(false))
        // The first write holds the thread until the others wait, so that they are one group.
        async let first: Void = database.write { _ in
            isHeld.withLock { $0 = true }
            while !isFree.withLock({ $0 }) {}
        }
        while !isHeld.withLock({ $0 }) { await Task.yield() }
        async let small = outcomes(of: 10) { try await database.write { try Pairs.add(writer: 1, to: $0) } }
        async let large = outcomes(of: 1) {
            try await database.write { transaction in
                // More than the page cache holds, so that the file grows before the commit.
                for number in 0..<Int64(2 * limit / 1_000_000) { try Pairs.addLarge(number, bytes: 1_000_000, to: transaction) }
                return 0
            }
        }
        async let more = outcomes(of: 10) { try await database.write { try Pairs.add(writer: 2, to: $0) } }
        while database.waitingWrites < 21 { await Task.yield() }
        isFree.withLock { $0 = true }
        try await first
        say("\(await small) \(await large) \(await more)")
        let kept = try await database.read { try Pairs.check($0) }
        say("kept \(kept[1] ?? 0) \(kept[2] ?? 0) in \(database.counters.commits) commits")
        await database.close()
    }

    /// Runs `work` concurrently `count` times, and reports how often it succeeded or why it failed.
    static func outcomes(of count: Int, _ work: @escaping @Sendable () async throws -> Int64) async -> String {
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do {
                        _ = try await work()
                        return "done"
                    } catch {
                        return (error as? StoreError)?.code.identifier ?? "\(error)"
                    }
                }
            }
            let all = await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            return all.sorted { $0.key < $1.key }.map { "\($0.value)×\($0.key)" }.joined(separator: ",")
        }
    }

    /// Limits the size of this process's files, like a full disk.
    static func limitFiles(to bytes: UInt) {
        signal(SIGXFSZ, SIG_IGN)
        var limits = rlimit(rlim_cur: bytes, rlim_max: .max)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(1) }
    }

    static func writeBlobs(path: String) throws {
        let store = try DirectoryBlobStore(path: path)
        while true {
            let writer = try store.writer()
            for _ in 0..<Int.random(in: 1...20) {
                let piece = [UInt8](repeating: .random(in: 0...255), count: .random(in: 1...100_000))
                try writer.append(piece.rawSpan)
            }
            say(try writer.finish().text)
        }
    }

    static func fillBlob(path: String, limit: UInt) throws {
        let store = try DirectoryBlobStore(path: path)
        limitFiles(to: limit)
        let piece = [UInt8](repeating: 7, count: 100_000)
        do throws(StoreError) {
            let writer = try store.writer()
            for _ in 0..<(2 * limit / 100_000) { try writer.append(piece.rawSpan) }
            _ = try writer.finish()
        } catch {
            say(error.code.identifier)
        }
        limitFiles(to: .max)
        let writer = try store.writer()
        for _ in 0..<(2 * limit / 100_000) { try writer.append(piece.rawSpan) }
        let blob = try store.open(try writer.finish())
        say(blob.byteCount == writer.byteCount ? "works again" : "is short")
    }
}
