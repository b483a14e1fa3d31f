// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
public import CarrelMediaSource
import CarrelRights
import CarrelTokens

/// The address of content together with the right to play it, in the shape of Marlin Simple Secure Streaming.
///
/// It is the address of a rights service with a token (the S-URL), `#`, and the percent-encoded address of the content (the
/// C-URL): `https://rights.example/hms/ms3/rights/?b=TOKEN#https%3A%2F%2Fcdn.example%2Ffilm.mpd`, or the same with the scheme
/// `ms3`. Who has the token can redeem it, so that the description leaves it out.
public struct MS3URL: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let compound: CompoundURL
    /// The address of the content, with the scheme `https` or `http`.
    ///
    /// The scheme `hls` becomes `https`, or `http` for an address of this machine.
    public let contentURL: String
    /// Whether the scheme of the content URL identifies an HLS playlist.
    public let isPlaylist: Bool

    /// Reads a compound URL.
    ///
    /// - Parameter text: at most 16 KiB, with the scheme `https` or `ms3`.
    /// - Throws: `proxy.usage` with the part that is malformed; `proxy.address` if the rights service is not reached by TLS.
    public init(_ text: String) throws(ProxyError) {
        do throws(RightsError) { compound = try CompoundURL(parsing: text) } catch {
            throw ProxyError(
                error.code == .insecureRights ? .address : .usage,
                "the MS3 address is not taken: \(error.message)",
                recommendation: error.code == .insecureRights
                    ? "Ask the provider for an address with https or ms3."
                    : "Pass the rights location with its token, '#', and the percent-encoded address of the content."
            )
        }
        let content = compound.contentURL
        guard let address = ServiceAddress(content), address.scheme == "hls" else {
            contentURL = content
            isPlaylist = false
            return
        }
        let plain = "http://\(address.rest)"
        contentURL = ServiceAddress(plain)?.isTrustworthy == true ? plain : "https://\(address.rest)"
        isPlaylist = true
    }

    /// Whether a source is meant as a compound URL: by its scheme, the path of its rights service, or an address in its fragment.
    ///
    /// - Parameter source: the source as passed to the proxy.
    /// - Returns: true for malformed ones too, so that their token is not sent to a server as part of an ordinary address.
    package static func seems(_ source: String) -> Bool {
        // characters that are not seen in front of an address make no path of it
        let scalars = source.unicodeScalars.drop { Self.isUnseen($0) }.reversed().drop { Self.isUnseen($0) }
        let source = String(String.UnicodeScalarView(scalars.reversed()))
        let start = source.prefix(8).lowercased()
        if start.hasPrefix("ms3:") { return true }
        guard start.hasPrefix("https://") || start.hasPrefix("http://") else { return false }
        let parts = source.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            let fragment = parts[1].prefix(24).lowercased()
            for scheme in ["http", "https", "hls"] where fragment.hasPrefix(scheme) {
                let rest = fragment.dropFirst(scheme.count)
                if rest.hasPrefix("://") || rest.hasPrefix("%3a") || rest.hasPrefix(":%2f") { return true }
            }
        }
        let path = parts[0].prefix { $0 != "?" }.lowercased()
        return path.hasSuffix("/ms3/rights/") || path.hasSuffix("/ms3/rights")
    }

    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// The address at which the token is redeemed, with the token: always `https`. It is for the rights service alone.
    public var rightsURL: String { compound.rightsURL }

    /// The token, which only the rights service can read. Who has it can redeem it.
    public var token: String { compound.token }

    /// The compound URL verbatim, with the token.
    package var text: String { compound.description }

    /// The address without its token.
    public var description: String { "\(MediaOrigin.shown(compound.rightsURL))?b=…#\(MediaOrigin.shown(contentURL))" }

    /// The address without its token.
    public var debugDescription: String { description }

    /// The address without its token.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// A text of others without the token.
    ///
    /// - Parameter text: such as the message of a rights service.
    /// - Returns: one line, of at most 256 characters.
    package func withoutToken(_ text: String) -> String {
        var line = String(text.prefix(4096)).replacing(token, with: "…")
        // a token may be written with escapes that it does not need
        for part in rightsURL.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let written = part.drop { $0 != "=" }.dropFirst()
            if PercentEncoding.decode(written) == token { line = line.replacing(written, with: "…") }
        }
        return String(line.prefix(256).map { $0.isNewline || $0.unicodeScalars.contains { $0.value < 0x20 } ? " " : $0 })
    }
}
