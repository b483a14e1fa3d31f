// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// A server of 127.0.0.1 that has the files of a folder, with byte ranges, and an empty page.
package final class FolderServer: Sendable {
    private let server: LoopbackServer
    /// Such as `http://127.0.0.1:8080`.
    package var origin: String { "http://127.0.0.1:\(server.port)" }

    /// - Parameter folder: its path.
    package init(_ folder: String) {
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                guard Self.respond(to: request, folder, connection) else { return }
            }
        }
    }

    private static func respond(to request: LoopbackRequest, _ folder: String, _ connection: LoopbackConnection) -> Bool {
        let path = request.target.split(separator: "?")[0]
        if path == "/" {
            return connection.respond(200, ["Content-Type: text/html"], body: Array("<!doctype html><title>page</title>".utf8))
        }
        guard let bytes = Fixtures.bytes(at: folder + path) else { return connection.respond(404, [], body: []) }
        let types = [
            "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml", "ts": "video/mp2t", "mp4": "video/mp4",
            "m4s": "video/mp4",
        ]
        let type = "Content-Type: \(types[String(path.split(separator: ".").last ?? "")] ?? "application/octet-stream")"
        guard let range = request["Range"]?.split(separator: "=").last?.split(separator: "-", omittingEmptySubsequences: false),
            let first = range.first.flatMap({ Int($0) }), first < bytes.count
        else { return connection.respond(200, [type, "Accept-Ranges: bytes"], body: bytes) }
        let last = min(range.last.flatMap { Int($0) } ?? .max, bytes.count - 1)
        let place = "Content-Range: bytes \(first)-\(last)/\(bytes.count)"
        return connection.respond(206, [type, place], body: Array(bytes[first...last]))
    }
}
