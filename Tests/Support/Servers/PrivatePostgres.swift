// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc
import Testing

/// A PostgreSQL server that belongs to this test run: on a socket in a temporary directory, reached by nothing else, and gone
/// with the run. All tests share it, each with a database of its own.
package final class PrivatePostgres: Sendable {
    private let directory: TemporaryDirectory
    private let programs: String
    private let user: [String]
    private let command: [String]
    private let server: Locked<BackgroundProcess>
    private let databases = Locked(0)
    private let templates = Locked<[String: Task<String, any Error>]>([:])

    private static let starting = Locked<Task<PrivatePostgres, any Error>?>(nil)

    /// The server, started by the first who asks. Where PostgreSQL is not installed the test is skipped and says so.
    package static func shared() async throws -> PrivatePostgres {
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

    /// A server of the test's own, which it may stop and freeze, with these settings more, as `max_connections=20`.
    package static func own(_ settings: [String] = []) async throws -> PrivatePostgres {
        guard let programs = findPrograms() else {
            try Test.cancel("PostgreSQL is not installed: nothing to test against")
        }
        return try await PrivatePostgres(programs: programs, settings)
    }

    /// Stops the server where it is, with all its processes (SIGSTOP): its sockets stay open, and nothing is answered.
    package func freeze() throws {
        for process in [current.processID] + (try children()) { kill(process, SIGSTOP) }
    }

    /// Resumes a frozen server.
    package func thaw() throws {
        for process in try children() + [current.processID] { kill(process, SIGCONT) }
    }

    /// Ends the server; connections to it are refused then.
    package func shutDown() async {
        current.signal(SIGQUIT)
        _ = try? await current.waitForExit()
    }

    /// Starts the server again that was shut down.
    package func startAgain() async throws {
        let fresh = try BackgroundProcess(command)
        server.withLock { $0 = fresh }
        _ = try await fresh.waitForLine(containing: "ready to accept connections")
    }

    private var current: BackgroundProcess { server.withLock { $0 } }

    /// The server's own processes, each in a session of its own.
    private func children() throws -> [Int32] {
        guard let folder = unsafe opendir("/proc") else { return [] }
        defer { unsafe closedir(folder) }
        var found: [Int32] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard let process = Int32(name), let file = unsafe fopen("/proc/\(process)/stat", "re") else { continue }
            defer { unsafe fclose(file) }
            var line = [CChar](repeating: 0, count: 1024)
            guard unsafe fgets(&line, Int32(line.count), file) != nil else { continue }
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // "pid (name) state parent …"
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            if fields.count > 1, Int32(fields[1]) == current.processID { found.append(process) }
        }
        return found
    }

    /// Makes an empty database and returns its address, `postgres:///name?host=…&user=…`.
    package func newDatabase() async throws -> String {
        let name = newName()
        try await createDatabase(name)
        return address(of: name)
    }

    /// Makes a copy of a prepared database, which takes a tenth of the time of preparing it.
    ///
    /// - Parameters:
    ///   - template: the name of what is copied; it is made by the first call with this name and goes with the server.
    ///   - prepare: fills the empty database at an address, and closes all connections to it.
    /// - Returns: the address of the copy.
    /// - Throws: what `prepare` throws, ``ProcessError``.
    package func newDatabase(
        from template: String,
        prepare: @escaping @Sendable (String) async throws -> Void
    ) async throws -> String {
        let source = templates.withLock { templates in
            if let task = templates[template] { return task }
            let new = Task {
                try await createDatabase(template)
                try await prepare(address(of: template))
                return template
            }
            templates[template] = new
            return new
        }
        let name = newName()
        try await createDatabase(name, ["--template=\(try await source.value)"])
        return address(of: name)
    }

    /// Backs a database up with pg_dump.
    ///
    /// - Parameter address: the database's address, which may be in use.
    /// - Returns: the path of the file.
    /// - Throws: ``ProcessError``.
    package func backUp(_ address: String) async throws -> String {
        let name = String(address.dropFirst("postgres:///".count).prefix { $0 != "?" })
        let path = directory.file("\(newName()).dump")
        let arguments = ["-h", directory.path, "-U", "postgres", "--format=custom", "--file=\(path)", name]
        try await checkProcess(user + ["\(programs)/pg_dump"] + arguments)
        return path
    }

    /// Restores a backup into a new database with pg_restore.
    ///
    /// - Parameter path: of what ``backUp(_:)`` wrote.
    /// - Returns: the address of the new database.
    /// - Throws: ``ProcessError``.
    package func restore(_ path: String) async throws -> String {
        let name = newName()
        try await createDatabase(name)
        let arguments = ["-h", directory.path, "-U", "postgres", "--exit-on-error", "--dbname=\(name)", path]
        try await checkProcess(user + ["\(programs)/pg_restore"] + arguments)
        return address(of: name)
    }

    private func newName() -> String {
        databases.withLock { number in
            number += 1
            return "test\(number)"
        }
    }

    private func createDatabase(_ name: String, _ options: [String] = []) async throws {
        try await checkProcess(user + ["\(programs)/createdb", "-h", directory.path, "-U", "postgres"] + options + [name])
    }

    private func address(of database: String) -> String { "postgres:///\(database)?host=\(directory.path)&user=postgres" }

    private init(programs: String, _ more: [String] = []) async throws {
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
        command = user + ["\(programs)/postgres", "-D", data] + (settings + more).flatMap { ["-c", $0] }
        let first = try BackgroundProcess(command)
        server = Locked(first)
        _ = try await first.waitForLine(containing: "ready to accept connections")
    }

    deinit {
        // A process that is stopped would not see its end coming.
        try? thaw()
    }

    /// The folder of the newest version's programs on Debian, or in PATH.
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
