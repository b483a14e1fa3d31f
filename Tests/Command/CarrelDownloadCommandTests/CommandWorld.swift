// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// A reader's folder, and a server of files on this machine that can fail, wait and stop.
final class CommandWorld: Sendable {
    private struct State: Sendable {
        var log: [String] = []
        /// The wait before each segment is sent, in milliseconds.
        var delay: UInt32 = 0
    }

    let directory = TemporaryDirectory()
    let port: UInt16
    private let state = Locked(State())
    private let server = Locked<LoopbackServer?>(nil)

    static let passphrase = "correct horse battery"

    init() {
        let (folder, state) = (directory.path, state)
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let path = String(request.target.dropFirst().prefix { $0 != "?" })
                let delay = state.withLock { state in
                    state.log.append(path)
                    return state.delay
                }
                guard let bytes = Fixtures.bytes(at: "\(folder)/www/\(path)") else {
                    guard connection.respond(404) else { return }
                    continue
                }
                if path.hasSuffix(".ts") { usleep(delay * 1000) }
                let type = path.hasSuffix(".m3u8") ? "application/vnd.apple.mpegurl" : "application/octet-stream"
                guard connection.respond(200, ["Content-Type: \(type)", "ETag: \"\(path)\""], body: bytes) else { return }
            }
        }
        port = server.port
        self.server.withLock { $0 = server }
    }

    /// Ends every connection, and listens no more.
    func stopServer() { server.withLock { $0 = nil } }

    /// The paths in the order of their requests.
    var log: [String] { state.withLock { $0.log } }
    var segments: [String] { log.filter { $0.hasSuffix(".ts") } }
    func delaySegments(milliseconds: UInt32) { state.withLock { $0.delay = milliseconds } }

    var url: String { "http://127.0.0.1:\(port)/film.m3u8" }
    var home: String { directory.file("home") }

    /// A film of eight seconds in segments of one, under an AES-128 key of the server.
    func makeFilm(isLive: Bool = false) async throws {
        let folder = directory.file("www")
        try await checkProcess(["mkdir", "-p", folder])
        _ = directory.write("www/film.key", [UInt8](0..<16))
        let info = directory.write("key-info", "http://127.0.0.1:\(port)/film.key\n\(folder)/film.key\n")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x90:rate=10:duration=8", "-f",
            "lavfi", "-i",
            "sine=duration=8", "-c:v", "libx264", "-g", "10", "-c:a", "aac", "-f", "hls", "-hls_time", "1", "-hls_key_info_file",
            info,
            "-hls_playlist_type", isLive ? "event" : "vod", "-hls_flags", isLive ? "omit_endlist" : "independent_segments",
            "-hls_segment_filename", "\(folder)/%03d.ts", "\(folder)/film.m3u8",
        ])
    }

    // MARK: - The command

    private func environment(_ passphrase: String?) -> [String: String] {
        var environment = ["PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "HOME": directory.path]
        environment["CARREL_VAULT_PASSPHRASE"] = passphrase
        return environment
    }

    /// Runs `carrel WORDS --home DIR`.
    func carrel(_ words: [String], passphrase: String? = CommandWorld.passphrase) async throws -> ProcessResult {
        try await runProcess(
            [try CarrelProgram.path()] + words + ["--home", home],
            environment: environment(passphrase),
            directory: directory.path,
            timeout: .seconds(120)
        )
    }

    /// Starts it.
    func start(_ words: [String]) throws -> BackgroundProcess {
        try BackgroundProcess(
            [try CarrelProgram.path()] + words + ["--home", home],
            environment: environment(Self.passphrase),
            directory: directory.path
        )
    }

    /// The objects that it prints, one a line.
    func json(_ words: [String], passphrase: String? = CommandWorld.passphrase) async throws -> [JSON] {
        let result = try await carrel(words + ["--json"], passphrase: passphrase)
        try #require(result.status.isSuccess, "\(words) \(result.errorText)")
        return try Self.objects(result.text)
    }

    static func objects(_ text: String) throws -> [JSON] {
        try text.split(separator: "\n").map { line in
            let bytes = Array(line.utf8)
            return try JSON.parse(bytes.rawSpan)
        }
    }

    /// Saves the film, and returns its id.
    func save(_ options: [String] = []) async throws -> String {
        let item = try #require(try await json(["download", "add", url] + options).last)
        #expect(item["state"]?.string == "completed", "\(item)")
        return try #require(item["id"]?.string)
    }

    /// The path of a package.
    func package(_ id: String) -> String { "\(home)/reader/downloads/\(id)" }

    /// A player that reads all of an address and ends with ffmpeg's status.
    func player() async throws -> String {
        let path = directory.write(
            "player",
            "#!/bin/sh\nexec ffmpeg -y -nostdin -v error -xerror -i \"$1\" -map 0:v -f framemd5 \(directory.path)/frames\n"
        )
        try await checkProcess(["chmod", "+x", path])
        return path
    }

    /// The digests of the pictures that the player saw last.
    func frames() -> [String] {
        String(decoding: directory.read("frames") ?? [], as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: " ").last.map(String.init) }
    }
}
