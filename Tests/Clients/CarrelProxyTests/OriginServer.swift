// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

/// A server of 127.0.0.1, or another loopback address, that serves the files of a folder, with ranges, and records requests.
final class OriginServer: Sendable {
    /// A response that replaces the folder's; nil keeps the folder's.
    typealias Answer = @Sendable (HTTPRequest) async -> HTTPResponse?

    /// A recorded request.
    struct Request: Sendable {
        var path: String
        var query: String
        var headers: HTTPFields
    }

    private let server: HTTPServer
    private let log: Locked<[Request]>
    /// Such as `http://127.0.0.1:8080`.
    let origin: String

    init(
        _ folder: String,
        address: String = "127.0.0.1",
        hasRanges: Bool = true,
        _ answer: @escaping Answer = { _ in nil }
    ) throws {
        let log = Locked<[Request]>([])
        var router = Router()
        router.on(.get, "{path...}") { request, _ in
            let path = request.path.segments.joined(separator: "/")
            log.withLock { $0.append(Request(path: path, query: request.query.raw, headers: request.headers)) }
            if let made = await answer(request) { return made }
            guard let bytes = Fixtures.bytes(at: "\(folder)/\(path)") else {
                return HTTPError(.notFound, "test.missing", "there is no such file").response(requestID: request.id)
            }
            let type = path.hasSuffix(".m3u8") ? "application/vnd.apple.mpegurl" : "application/octet-stream"
            guard hasRanges else { return .bytes(bytes, type: type, isCompressible: false) }
            return .serving(
                Representation(length: Int64(bytes.count), contentType: type) { range in
                    .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
                },
                for: request
            )
        }
        var configuration = ServerConfiguration()
        configuration.listeners = [.tcp(address: address, port: 0)]
        configuration.workers = 1
        server = HTTPServer(configuration: configuration, router: router)
        origin = try #require(try server.start().first).description
        self.log = log
    }

    /// The requests so far.
    var requests: [Request] { log.withLock { $0 } }

    func stop() async { await server.shutdown(grace: .seconds(1)) }
}
