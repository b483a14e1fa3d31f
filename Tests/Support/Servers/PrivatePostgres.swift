import CarrelThreads
import Glibc
import Testing

/// A PostgreSQL server that belongs to this test run: on a socket in a temporary directory, reached by nothing else, and gone
/// with the run. All tests share it, each with a database of its own.
public final class PrivatePostgres: Sendable {
    private let directory: TemporaryDirectory
    private let programs: String
    private let user: [String]
    private let server: BackgroundProcess
    private let databases = Locked(0)

    private static let starting = Locked<Task<PrivatePostgres, any Error>?>(nil)

    /// The server, started by the first who asks. Where PostgreSQL is not installed the test is skipped and says so.
    public static func shared() async throws -> PrivatePostgres {
        guard let programs = findPrograms() else {
            try Test.cancel("PostgreSQL is not installed: nothing to test against")
        }
        let task = starting.withLock { task in
            if let task { return task }
            let new = Task { try await PrivatePostgres(programs: programs) }
            task = new
            atexit { PrivatePostgres.stop() }
            return new
        }
        return try await task.value
    }

    /// Makes an empty database and returns its address, `postgres:///name?host=…&user=…`.
    public func newDatabase() async throws -> String {
        let number = databases.withLock { number in
            number += 1
            return number
        }
        let name = "test\(number)"
        try await checkProcess(user + ["\(programs)/createdb", "-h", directory.path, "-U", "postgres", name])
        return "postgres:///\(name)?host=\(directory.path)&user=postgres"
    }

    private init(programs: String) async throws {
        directory = TemporaryDirectory()
        self.programs = programs
        let data = directory.file("data")
        if getuid() == 0 {
            // The server refuses to run as root.
            user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
            try await checkProcess(["chown", "postgres:postgres", directory.path])
        } else {
            user = []
        }
        let locale = ["--encoding=UTF8", "--locale=C"]
        try await checkProcess(user + ["\(programs)/initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-D", data] + locale)
        let settings = [
            "listen_addresses=", "unix_socket_directories=\(directory.path)", "fsync=off", "full_page_writes=off",
            "max_connections=300", "shared_buffers=64MB", "dynamic_shared_memory_type=mmap",
        ]
        server = try BackgroundProcess(user + ["\(programs)/postgres", "-D", data] + settings.flatMap { ["-c", $0] })
        _ = try await server.waitForLine(containing: "ready to accept connections")
    }

    /// Where Debian keeps the newest version's programs, or wherever PATH has them.
    private static func findPrograms() -> String? {
        let versions = (13...30).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        if let folder = versions.first(where: { unsafe access("\($0)/initdb", X_OK) == 0 }) { return folder }
        return program("initdb").map { String($0.dropLast("/initdb".count)) }
    }

    /// Kills the server and removes its files at the end of the run.
    private static func stop() {
        starting.withLock { $0 = nil }
    }
}
