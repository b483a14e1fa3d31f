// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelLoopback
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation

/// A source served at its own address.
final class ProxySession: Sendable {
    let loopback: LoopbackSession
    let token: String
    private let content: SessionContent
    private let entrance: String

    private var options: ProxyOptions { content.options }

    /// The first segment of the path of every address.
    private static let kind = "play"

    init(_ content: SessionContent) {
        let token = SessionToken()
        self.token = token.text
        self.content = content
        let (source, options) = (content.source, content.options)
        let isContainer = Self.isContainer(content.settings.parameters.sourceContentType, source.name)
        entrance = source.type == .singleFile && isContainer ? "content" : "index.m3u8"
        let area = LoopbackSession.Area([Self.kind], token: token, tokenPlace: options.hasTokenInHeader ? .header : .path)
        loopback = LoopbackSession([area], clients: options.clients == .user ? .user : .ownProcesses) { request in
            await content.respond(to: request)
        }
    }

    /// Whether a source seems to be a DCF, by its media type or its name; a wrong guess is redirected.
    private static func isContainer(_ type: String?, _ source: String) -> Bool {
        if let type { return type.lowercased().hasPrefix("application/vnd.oma.drm.dcf") }
        let path = source.lowercased().split(separator: "?").first ?? ""
        return path.hasSuffix(".dcf") || path.hasSuffix(".odf")
    }

    /// The address for the player.
    func url(origin: String) -> String {
        let base = options.hasTokenInHeader ? "\(origin)/\(Self.kind)" : "\(origin)/\(Self.kind)/\(token)"
        guard options.usesLongURLs else { return "\(base)/\(entrance)" }
        return "\(base)/\(entrance)?source=\(PercentEncoding.encode(content.source.name))"
    }

    /// The address of a page with one element that plays the source.
    func pageURL(origin: String) -> String {
        options.hasTokenInHeader ? "\(origin)/\(Self.kind)/player.html" : "\(origin)/\(Self.kind)/\(token)/player.html"
    }

    /// The key source, if it accepts license tokens.
    var licenseTokenReceiver: (any LicenseTokenReceiver)? {
        (content.settings.keys as? SessionKeys)?.tokenReceiver
    }

    /// Ends the session's activity.
    func end() { content.end() }

    func progress() -> SessionProgress { content.progress() }

    /// Looks into the source.
    func check() async throws(ProxyError) -> SourceSummary { try await content.check() }

    /// Returns after the session has released what it held at other services.
    func released() async { await content.released() }
}
