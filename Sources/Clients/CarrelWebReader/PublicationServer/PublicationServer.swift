// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelReader
import CarrelHTTP
import CarrelHTTPServer
import CarrelLoopback
public import CarrelPublication
import CarrelThreads

/// Serves an opened publication over HTTP on this machine, for the user's web navigator.
///
/// Its addresses contain 256 random bits: requests without them, or from other users of the machine, are refused with 403.
/// Resources have few rights in a browser: each is sent with a `Content-Security-Policy` that gives it no origin.
public final class PublicationServer: Sendable {
    /// The addresses of a served publication.
    public struct Addresses: Sendable, Equatable {
        /// The base URL of the manifest (`manifest.json`), of the resources by their `href`, and of `~readium/positions` and
        /// `~readium/cover`. Ends with a slash.
        public let publication: String
        /// The base URL of `~readium/content-protection`, `~readium/rights/copy` and `~readium/rights/print`. A secret of the
        /// app: no resource of the publication can know it. Ends with a slash.
        public let protection: String
    }

    let session: ReadingSession
    private let server: SessionServer
    private let origin: Locked<String>

    /// More connections than this at a time are refused: a browser has six.
    private static let connectionLimit = 64

    /// A server that does not listen yet.
    ///
    /// - Parameters:
    ///   - publication: open or restricted; of a restricted one only manifest, cover and protection are served. Stays the
    ///     caller's to close, after the server has stopped.
    ///   - port: a port of 127.0.0.1; 0 for any free port.
    public convenience init(_ publication: Publication, port: UInt16 = 0) {
        self.init(ReadingSession(publication), port: port) { _ in }
    }

    /// - Parameters:
    ///   - session: the session to serve.
    ///   - port: a port of 127.0.0.1; 0 for any free port.
    ///   - open: first segments of paths that need no token.
    ///   - addRoutes: adds further routes.
    init(_ session: ReadingSession, port: UInt16, open: Set<String> = [], _ addRoutes: (inout Router) -> Void) {
        self.session = session
        let origin = Locked("")
        self.origin = origin
        var router = Router()
        PublicationRoutes(session: session) { origin.withLock { $0 } }.add(to: &router)
        ProtectionRoutes(session: session).add(to: &router)
        addRoutes(&router)
        router.refusal = { request in
            guard open.contains(request.path.segments[0]) else { return nil }
            return ReadingSession.refusals.noToken.response(requestID: request.id)
        }
        let action: LoopbackSession.Action = { [router] in await router.respond(to: $0.http) }
        var configuration = SessionServer.Configuration()
        configuration.port = port
        configuration.connectionLimit = Self.connectionLimit
        configuration.refusals = ReadingSession.refusals
        for kind in open { configuration.open[kind] = action }
        server = SessionServer(configuration)
        server.add(LoopbackSession(session.areas, action))
    }

    /// Starts to listen; may be called once.
    ///
    /// - Returns: the addresses.
    /// - Throws: `reader.server` if the port is in use.
    public func start() throws(ReaderError) -> Addresses {
        let origin: String
        do throws(HTTPServerError) { origin = try server.start() } catch { throw ReaderError(.server, error.message) }
        self.origin.withLock { $0 = origin }
        return Addresses(
            publication: "\(origin)/publication/\(session.content.text)/",
            protection: "\(origin)/protection/\(session.control.text)/"
        )
    }

    /// Stops listening, and aborts open responses after a short grace period.
    public func stop() async {
        await server.stop()
    }
}
