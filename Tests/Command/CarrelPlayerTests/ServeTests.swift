// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPServer
import CarrelHome
import CarrelServer
import CarrelSettings
import CarrelTesting
import Glibc
import Testing

@testable import carrel

/// The properties of a server started by `carrel serve`.
struct `A server started by carrel serve` {
    private let directory = TemporaryDirectory()

    private func start(_ options: [String] = [], as command: [String] = [], _ program: String = DemoServer.program) async throws
        -> BackgroundProcess
    {
        let process = try BackgroundProcess(
            command + [program, "serve", "--home", directory.file("home"), "--port", "0"] + options,
            directory: directory.path
        )
        _ = try await process.waitForLine(containing: "listening on http")
        return process
    }

    @Test(arguments: [
        ("order-url", "anyone with an order id can listen to it"), ("session", "listening requires the account's session"),
    ])
    func `says on standard error who can listen`(mode: String, meaning: String) async throws {
        let all = mode == "order-url" ? [[], ["--stream-access", mode]] : [["--stream-access", mode]]
        for options in all {
            let process = try await start(options)
            let line = try await process.waitForError(containing: "access: ")
            #expect(line.contains("access: \(meaning) (stream.access = \(mode))"))
            #expect(!process.output.contains("access"), "standard output is for scripts")
            #expect(await process.terminate() == .exited(0))
        }
    }

    @Test func `says how to get another port where one is taken`() async throws {
        let process = try await start()
        let address = try await process.waitForLine(containing: "listening on http")
        let port = String(try #require(address.split(separator: ":").last))
        let ended = try await runProcess(
            [DemoServer.program, "serve", "--home", directory.file("other"), "--port", port],
            directory: directory.path
        )
        #expect(ended.status == .exited(69))
        let words = String(decoding: ended.errors, as: UTF8.self)
        #expect(words.contains("port \(port): address already in use") && words.contains("hint: choose another port with --port"))
        #expect(await process.terminate() == .exited(0))
    }

    @Test func `says when passwords would come in the clear, and only then`() async throws {
        func warning(_ change: (inout ServeSettings) -> Void) throws -> Bool {
            var settings = try LoadedSettings<ServeSettings>().values
            change(&settings)
            return settings.isInTheClear
        }
        for address in ["0.0.0.0", "::", "192.0.2.1"] { #expect(try warning { $0.address = address }) }
        for address in ["127.0.0.1", "127.0.0.2", "::1"] { #expect(try !warning { $0.address = address }) }
        #expect(
            try !warning {
                $0.address = "0.0.0.0"
                $0.trustedProxies = ["10.0.0.0/8"]
            }
        )
        #expect(
            try !warning {
                $0.address = "0.0.0.0"
                $0.certificate = "server.pem"
            }
        )
        let open = try await start(["--bind", "0.0.0.0"])
        #expect(try await open.waitForError(containing: "not encrypted").contains("no TLS at 0.0.0.0"))
        #expect(try await open.waitForError(containing: "hint: ").contains("http.trusted-proxies"))
        #expect(await open.terminate() == .exited(0))
        let closed = try await start()
        _ = try await closed.waitForError(containing: "access: ")
        #expect(await closed.terminate() == .exited(0))
        #expect(!closed.errors.contains("not encrypted"))
    }

    /// The kernel keeps the files of a process that forbids dumps in /proc for root (proc(5), PR_SET_DUMPABLE), so that processes
    /// of `nobody` itself cannot read it. The other program shows that others can be read.
    @Test func `lets no other process of its user read its memory, and leaves no core`() async throws {
        var command: [String] = []
        let program = directory.file("carrel")
        try await checkProcess(["cp", DemoServer.program, program])
        if geteuid() == 0 {
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            try await checkProcess(["chown", "nobody", directory.path])
        }
        func read(_ process: Int32, _ file: String) async throws -> Bool {
            try await runProcess(command + ["cat", "/proc/\(process)/\(file)"]).status.isSuccess
        }
        func owner(_ process: Int32) async throws -> String {
            try await checkProcess(["stat", "-c", "%U", "/proc/\(process)/status"]).split(separator: "\n").first.map(String.init)
                ?? ""
        }
        let server = try await start([], as: command, program)
        let other = try BackgroundProcess(command + ["sleep", "600"])
        // until the other is the user that it is to be
        for _ in 0..<200 where try await !read(other.processID, "environ") { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try await read(other.processID, "environ"))
        #expect(try await read(server.processID, "environ") == false)
        #expect(try await read(server.processID, "maps") == false)
        #expect(try await owner(other.processID) != "root" || geteuid() != 0)
        #expect(try await owner(server.processID) == "root")
        let limits = try await checkProcess(["cat", "/proc/\(server.processID)/limits"])
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"], "\(core ?? "no limit")")
        _ = await other.kill()
        #expect(await server.terminate() == .exited(0))
    }

    @Test func `waits for the configured time`() throws {
        let home = try Home(at: directory.file("home"), missing: .create)
        let settings = try LoadedSettings<ServeSettings>().values
        let configuration = try ServerConfiguration(settings, home, descriptors: 1024)
        #expect(configuration.headerDeadline == .seconds(10))
        #expect(configuration.bodyDeadline == .seconds(30))
        #expect(configuration.stalledWriter == .seconds(120))
        #expect(configuration.keepAlive == .seconds(75))
        #expect(configuration.exchangeDeadline == .seconds(4 * 3600))
        #expect(configuration.maximumConnections == 384)
        #expect(try ServerConfiguration(settings, home, descriptors: 1 << 20).maximumConnections == 20_000)
        #expect(configuration.listeners.count == 2 && configuration.trustedProxies.isEmpty && configuration.allowedHosts.isEmpty)
    }

    /// Debian's libraries, except the C library and Swift's own, which every program needs. A build for the thread sanitizer
    /// links Swift's libdispatch by name, too, and a build for a sanitizer lacks our allocator.
    @Test(arguments: [
        (
            "carrel",
            [
                "jemalloc", "argon2", "crypto", "curl", "dbus-1", "gio-2", "glib-2", "gnutls", "gobject-2", "microhttpd",
                "p11-kit", "pq", "qpdf", "secret-1", "sqlite3", "tss2-esys", "tss2-mu", "tss2-tctildr", "xml2", "z", "zip",
            ]
        ),
        ("ReaderProgram", ["crypto", "curl", "xml2"]),
    ])
    func `links what it needs and nothing else, and a reading app neither server nor database`(
        program: String,
        libraries: [String]
    ) async throws {
        let readelf = try requirePeer("readelf")
        let path = DemoServer.program.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/\(program)"
        let sections = try await checkProcess([readelf, "-d", path])
        let needed = sections.split(separator: "\n").filter { $0.contains("(NEEDED)") }
            .compactMap { $0.split(separator: "[").last?.split(separator: "]").first.map(String.init) }
        let isSanitized = unsafe getenv("CARREL_SANITIZER") != nil
        let ofSanitizer = isSanitized ? ["libdispatch", "libBlocksRuntime"] : []
        let libraries = libraries.filter { !isSanitized || $0 != "jemalloc" }
        let own = needed.filter { name in
            !(ofSanitizer + [
                "libc.so", "libm.so", "libresolv.so", "libgcc_s.so", "libstdc++.so", "libpthread.so", "libdl.so", "ld-linux",
                "libswift", "lib_",
            ])
            .contains { name.hasPrefix($0) }
        }
        #if arch(x86_64)
            // segments side by side are the server's
            let expected = libraries + (program == "carrel" ? ["IPSec_MB"] : [])
        #else
            let expected = libraries
        #endif
        #expect(Set(own.map { String($0.dropFirst(3).prefix { $0 != "." }) }) == Set(expected), "\(needed)")
        #expect(!needed.contains { $0.contains("Foundation") }, "\(needed)")
    }
}

extension BackgroundProcess {
    /// Waits for a line on standard error.
    func waitForError(containing text: String) async throws -> String {
        for _ in 0..<1000 {
            if let line = errors.split(separator: "\n").first(where: { $0.contains(text) }) { return String(line) }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("'\(text)' was never said: \(errors)")
        return ""
    }
}
