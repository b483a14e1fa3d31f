import CarrelStore
import CarrelThreads
import Glibc
import StorePairs

/// Writes to a database and says on standard output what was acknowledged, until it is killed: by itself, when told to.
///
/// `StoreCrashWriter write PATH WRITERS MICROSECONDS`: pairs of rows, one more for each writer each time, killed after so long.
/// `StoreCrashWriter full PATH BYTES`: rows until no file may grow beyond so many bytes, then without that limit.
/// `StoreCrashWriter blobs PATH MICROSECONDS`: blobs, killed after so long.
@main
struct StoreCrashWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.count > 3 ? arguments[1] : "" {
        case "write":
            killLater(microseconds: UInt32(arguments[4]) ?? 0)
            try await writePairs(path: arguments[2], writers: Int(arguments[3]) ?? 1)
        case "full": try await fillUp(path: arguments[2], limit: UInt(arguments[3]) ?? 0)
        default:
            say("usage: see the source")
            exit(64)
        }
    }

    /// Kills this process with SIGKILL, from a thread of its own; 0 means never.
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

    static func writePairs(path: String, writers: Int) async throws {
        let database = try SQLiteDatabase(path: path, migrations: Pairs.migrations)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    while true {
                        let number = try await database.write { try Pairs.add(writer: Int64(writer), to: $0) }
                        say("\(writer) \(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    static func fillUp(path: String, limit: UInt) async throws {
        let database = try SQLiteDatabase(path: path, migrations: Pairs.migrations)
        signal(SIGXFSZ, SIG_IGN)
        var limits = rlimit(rlim_cur: limit, rlim_max: .max)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(1) }
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
        say("\(refusal?.code.identifier ?? "") after \(number), kept \(kept[1] ?? 0)")
        limits.rlim_cur = .max
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(1) }
        let next = try await database.write { try Pairs.add(writer: 1, to: $0) }
        say("\(next == number + 1 ? "works again" : "lost \(number)")")
        await database.close()
    }
}
