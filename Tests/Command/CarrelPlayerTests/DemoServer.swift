// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc

/// The demo titles on a real server: `carrel ingest`, `carrel order create`, `carrel serve`, as a new user would.
///
/// The titles are spoken once for all tests; each test has a home and a server of its own.
final class DemoServer: Sendable {
    struct DemoTitle: Sendable {
        /// The file that was ingested.
        let source: String
        let id: String
        let order: String
        let duration: Double
        let chapters: [(title: String, start: Double)]
    }

    let directory = TemporaryDirectory()
    let titles: [DemoTitle]
    let url: String
    private let process: BackgroundProcess

    /// The program under test, built next to the test's own.
    static let program: String = {
        let found = unsafe realpath("/proc/self/exe", nil)
        defer { unsafe free(found) }
        let here = unsafe found.map { unsafe String(cString: $0) } ?? ""
        return here.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/carrel"
    }()

    private static let library = Task<[String], any Error> {
        _ = try requirePeer("espeak-ng")
        _ = try requirePeer("ffmpeg")
        let script = Repository.path + "/scripts/demo-library"
        let text = try await checkProcess([script, libraryDirectory.path], timeout: .seconds(300))
        return text.split(separator: "\n").map(String.init)
    }
    private static let libraryDirectory = TemporaryDirectory()

    /// Serves what the files give, with these options of `carrel serve`: the demo titles where nothing else is said.
    init(_ options: [String] = [], sources: [String]? = nil) async throws {
        let home = directory.file("home")
        var titles: [DemoTitle] = []
        let library = if let sources { sources } else { try await Self.library.value }
        for source in library {
            let title = try await Self.json(["ingest", source, "--home", home, "--json"])["titles"]?.array?.first
            let id = title?["id"]?.string ?? ""
            let order = try await Self.json(["order", "create", "--home", home, "--title", id, "--account", "demo", "--json"])
            titles.append(
                DemoTitle(
                    source: source,
                    id: id,
                    order: order["id"]?.string ?? "",
                    duration: title?["duration"]?.double ?? 0,
                    chapters: (title?["chapters"]?.array ?? []).map { ($0["title"]?.string ?? "", $0["start"]?.double ?? -1) }
                )
            )
        }
        self.titles = titles
        process = try BackgroundProcess([Self.program, "serve", "--home", home, "--port", "0", "--demo"] + options)
        let line = try await process.waitForLine(containing: "listening on http")
        url = line.split(separator: " ").last.map(String.init) ?? ""
    }

    var home: String { directory.file("home") }

    /// The server's standard error.
    var log: String { process.errors }

    /// Runs the program and reads the JSON it prints.
    static func json(_ arguments: [String]) async throws -> JSON {
        let bytes = Array(try await checkProcess([program] + arguments, timeout: .seconds(120)).utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    func playlist(_ title: DemoTitle, _ query: String = "") -> String {
        "\(url)/v1/stream/hls/\(title.order)/playlist.m3u8\(query)"
    }

    func stop() async -> ExitStatus? { await process.terminate() }

    /// The credentials that an app gets by signing in and requesting the edition `com.example.7`: `userid:password`.
    static func credentials(_ url: String, _ name: String) async throws -> String {
        func text(_ element: String, _ xml: String) -> String {
            xml.split(separator: "<\(element)>").last?.split(separator: "<").first.map(String.init) ?? ""
        }
        let signedIn = try await checkProcess([
            "curl", "-sf", "--data-urlencode", "username=\(name)", "--data-urlencode", "password=correct horse battery",
            "-d", "uuid=\(name)-phone", "\(url)/sign_in/",
        ])
        let granted = try await checkProcess([
            "curl", "-sf", "-d", "token=\(text("token", signedIn))", "-d", "product_id=com.example.7",
            "\(url)/edition_credentials/",
        ])
        return "\(text("userid", granted)):\(text("password", granted))"
    }
}
