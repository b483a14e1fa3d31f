// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

/// A server of files with ranges, which counts its requests.
final class BookServer: Sendable {
    let url: String
    private let server: HTTPServer
    private let count: Locked<Int>

    /// - Parameters:
    ///   - files: by their names.
    ///   - certificates: a folder with `leaf.pem` and `leaf.key`; nil for plain http.
    /// - Throws: the error of a server that cannot listen.
    init(_ files: [String: [UInt8]], certificates: TemporaryDirectory? = nil) throws {
        let count = Locked(0)
        self.count = count
        var router = Router()
        router.on(.get, "/{name}") { request, parameters in
            count.withLock { $0 += 1 }
            guard let bytes = files[parameters["name"]] else { return HTTPResponse(.notFound) }
            let file = Representation(bytes, contentType: "application/octet-stream", etag: "\"v\(bytes.count)\"")
            return HTTPResponse.serving(file, for: request)
        }
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.listeners = [.tcp(address: "127.0.0.1", port: 0, isTLS: certificates != nil)]
        if let certificates {
            configuration.tls = .init(certificate: certificates.file("leaf.pem"), key: certificates.file("leaf.key"))
        }
        server = HTTPServer(configuration: configuration, router: router)
        let port = try #require(try server.start().first?.port)
        url = certificates == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)"
    }

    /// Requests since the last call.
    func take() -> Int {
        count.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    func stop() async { await server.shutdown(grace: .zero) }
}
