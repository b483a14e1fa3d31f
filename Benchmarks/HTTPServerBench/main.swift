// SPDX-License-Identifier: Apache-2.0

// A server with one worker for `run` to measure: tiny answers, 80 kB bodies of every kind, and handlers that really wait.
import CarrelHTTP
import CarrelHTTPServer
import CarrelThreads
import Glibc

/// The same bytes over and over, as a packager gives segments.
final class Segment: BodySource, @unchecked Sendable {  // read by one thread
    static let bytes = (0..<80_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    private var at = 0

    func read(into out: inout OutputRawSpan) throws {
        let count = min(out.freeCapacity, Self.bytes.count - at)
        let start = at
        unsafe out.withUnsafeMutableBytes { buffer, filled in
            unsafe Self.bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
            }
            filled += count
        }
        at += count
    }
}

nonisolated func routes(file: OpenFile) -> Router {
    var router = Router()
    let tiny = Array("hello, world\n".utf8)
    router.on(.get, "tiny") { _, _ in .bytes(tiny, type: "text/plain") }
    router.on(.get, "v1/{a}/{b}/tiny", secret: ["a"]) { _, _ in .bytes(tiny, type: "text/plain") }
    router.on(.get, "later") { _, _ in
        await Task.detached {}.value
        return .bytes(tiny, type: "text/plain")
    }
    router.on(.get, "bytes") { _, _ in .bytes(Segment.bytes, type: "video/mp2t") }
    router.on(.get, "pull") { _, _ in
        HTTPResponse(headers: ["Content-Type": "video/mp2t"], body: .pull(length: 80_000, Segment()))
    }
    router.on(.get, "stream") { _, _ in
        HTTPResponse(headers: ["Content-Type": "video/mp2t"], body: .stream(length: 80_000) { try await $0.write(Segment.bytes) })
    }
    router.on(.get, "file") { request, _ in .serving(Representation(file, contentType: "video/mp2t"), for: request) }
    return router
}

nonisolated func configuration() -> ServerConfiguration {
    var configuration = ServerConfiguration()
    let port = CommandLine.arguments.count > 1 ? UInt16(CommandLine.arguments[1]) ?? 0 : 0
    configuration.listeners = [.tcp(address: "127.0.0.1", port: port)]
    configuration.workers = 1
    configuration.keepAlive = .seconds(600)
    configuration.headerDeadline = .seconds(600)
    return configuration
}

let path = CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : "/dev/null"
let logs = CommandLine.arguments.count > 3
nonisolated func write(_ record: AccessRecord) {
    _ = record.json
}
let server = HTTPServer(configuration: configuration(), router: routes(file: try OpenFile(path: path)), log: logs ? write : nil)
for address in try server.start() { print("listening on \(address)") }
while true { pause() }
