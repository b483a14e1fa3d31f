// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import Glibc
import Testing

/// The web reader as the command starts it; what it shows is tested in `WebReaderTests`.
struct `Reading a publication in the browser` {
    private let directory = TemporaryDirectory()

    private func comic() async throws -> String {
        let zip = try requirePeer("zip")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([zip, "-q", "Tale.cbz", "1.png"], directory: directory.path)
        return directory.file("Tale.cbz")
    }

    @Test func `prints an address and serves it until it is interrupted`() async throws {
        let process = try BackgroundProcess(
            [DemoServer.program, "read", try await comic()],
            environment: ["PATH": "/usr/bin:/bin", "XDG_DATA_HOME": directory.file("data")]
        )
        let address = try await process.waitForLine(containing: "http://127.0.0.1:")
        let page = try await HTTPClient().send(ClientRequest(.get, address))
        #expect(page.status == .ok)
        #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(page.headers["Content-Security-Policy"]?.contains("default-src 'self'") == true)
        let modes = try await checkProcess(["stat", "-c", "%a", directory.file("data/carrel/reader")])
        #expect(modes == "700\n")
        process.signal(SIGINT)
        #expect(try await process.waitForExit() == .exited(0))
    }

    @Test func `ends with a status when it cannot`() async throws {
        let tool = try requirePeer("7z")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "a.cbz", "1.png"], directory: directory.path)
        for (arguments, status) in [(["none.epub"], 66), (["a.cbz", "--json"], 77), (["a.cbz", "--port", "70000"], 64)]
            as [([String], Int32)]
        {
            let ended = try await runProcess([DemoServer.program, "read"] + arguments, directory: directory.path)
            #expect(ended.status == .exited(status))
            #expect(ended.output.isEmpty)
        }
    }
}
