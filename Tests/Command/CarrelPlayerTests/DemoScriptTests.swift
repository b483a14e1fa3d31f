// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The script of `make run`, without the build.
struct `scripts/demo` {
    private let directory = TemporaryDirectory()

    /// A copy of what the script needs, with a `swift` that has built already and a `carrel` that notes what it is called for.
    private func prepare() async throws -> [String: String] {
        _ = try requirePeer("espeak-ng")
        _ = try requirePeer("ffmpeg")
        try await checkProcess(["cp", "-rL", "\(Repository.path)/scripts", "\(Repository.path)/demo", directory.path])
        try await checkProcess(["mkdir", directory.file("bin")])
        let programs = [
            directory.write("bin/swift", "#!/bin/sh\ncase \"$*\" in *--show-bin-path) echo \(directory.file("bin"));; esac\n"),
            directory.write(
                "bin/carrel",
                "#!/bin/sh\necho \"$1\" >>\(directory.file("calls"))\nexec \(DemoServer.program) \"$@\"\n"
            ),
        ]
        try await checkProcess(["chmod", "+x"] + programs)
        let path = try await checkProcess(["printenv", "PATH"]).split(separator: "\n")[0]
        return ["PATH": "\(directory.file("bin")):\(path)", "HOME_DIR": directory.file("home"), "PORT": "0"]
    }

    @Test func `makes two titles once and serves them`() async throws {
        let environment = try await prepare()
        for start in ["first", "second"] {
            let demo = try BackgroundProcess([directory.file("scripts/demo")], environment: environment)
            let line = try await demo.waitForLine(containing: "listening on http", timeout: .seconds(300))
            let url = line.split(separator: " ").last.map(String.init) ?? ""
            let page = try await checkProcess(["curl", "-sf", "\(url)/"])
            #expect(page.contains("<html"), "\(start)")
            let listed = try await DemoServer.json(["title", "list", "--home", directory.file("home"), "--json"])
            #expect(listed["titles"]?.array?.count == 2, "\(start)")
            let orders = try await DemoServer.json([
                "order", "list", "--account", "demo", "--home", directory.file("home"), "--json",
            ])
            #expect(orders["orders"]?.array?.count == 2, "\(start)")
            #expect(demo.output.contains("making the demo titles") == (start == "first"))
            #expect(await demo.terminate() == .exited(0))
        }
        let calls = String(decoding: directory.read("calls") ?? [], as: UTF8.self).split(separator: "\n")
        #expect(calls == ["ingest", "order", "ingest", "order", "serve", "serve"])
    }
}
