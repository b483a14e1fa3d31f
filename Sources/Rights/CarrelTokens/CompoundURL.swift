// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
package import CarrelRights

/// The address of protected content with the right to play it, in the format of Marlin Simple Secure Streaming.
///
/// It consists of a rights location with a business token (the S-URL), `#`, and the percent-encoded location of the content (the
/// C-URL). A fragment never leaves the client (RFC 9110 §4.2.5), so the rights service does not learn the content's location. The
/// format is used for compatibility: this is not Marlin's own implementation, and it is not certified.
package struct CompoundURL: Sendable, Hashable, CustomStringConvertible {
    /// The scheme that the rights location is written with. Both mean HTTP over TLS.
    package enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// `https://`, which every client supports.
        case https
        /// `ms3://`, which only players of such content take.
        case ms3
    }

    /// The most bytes that a compound URL has: 16 KiB.
    package static let maxByteCount = 16_384
    /// The most bytes that its token has: 8 KiB.
    package static let maxTokenByteCount = 8192

    /// The scheme as it was written.
    package let scheme: Scheme
    /// The rights location without its scheme and its fragment: `rights.example:8443/hms/ms3/rights/?b=…`.
    private let location: String
    /// The business token, which only the rights service can read.
    package let token: String
    /// The content's location verbatim, with the scheme `http`, `https`, or `hls` for an HLS playlist.
    package let contentURL: String

    /// Reads a compound URL.
    ///
    /// - Parameter text: at most 16 KiB.
    /// - Throws: `rights.url` if it is too long or not a URL, `rights.url.tls` if its rights location is not reached by TLS,
    ///   `rights.url.token` if it has no token, `rights.url.content` if it has no content location.
    package init(parsing text: some StringProtocol) throws(RightsError) {
        guard text.utf8.count <= Self.maxByteCount else { throw RightsError(.url, "the URL is longer than 16 KiB") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw RightsError(.url, "the URL has a character that must be escaped")
        }
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        (scheme, location, token) = try Self.rights(parts[0])
        guard parts.count == 2, !parts[1].isEmpty else { throw RightsError(.missingContent, "the URL has no content location") }
        guard let content = PercentEncoding.decode(parts[1]) else {
            throw RightsError(.missingContent, "the content location has a broken escape")
        }
        contentURL = try Self.content(content)
    }

    /// A compound URL of its parts.
    ///
    /// - Parameters:
    ///   - location: the rights service's `https` URL, without a query and a fragment.
    ///   - token: the business token: letters, digits, `-`, `_`, `.` and `~`.
    ///   - contentURL: with the scheme `http`, `https` or `hls`.
    ///   - scheme: the scheme to write the rights location with.
    /// - Throws: as ``init(parsing:)``.
    package init(rights location: String, token: String, contentURL: String, scheme: Scheme = .https) throws(RightsError) {
        let rights = try Self.rightsURL(location, token: token, scheme: scheme)
        (self.scheme, self.location, self.token) = try Self.rights(Substring(rights))
        self.contentURL = try Self.content(contentURL)
        guard description.utf8.count <= Self.maxByteCount else { throw RightsError(.url, "the URL is longer than 16 KiB") }
    }

    /// Returns a rights location with its token, for a client that already has the content's location.
    ///
    /// - Parameters:
    ///   - location: the rights service's `https` URL, without a query and a fragment.
    ///   - token: the business token: letters, digits, `-`, `_`, `.` and `~`.
    ///   - scheme: the scheme to write it with.
    /// - Returns: the S-URL.
    /// - Throws: `rights.url`, `rights.url.tls`, `rights.url.token`.
    package static func rightsURL(_ location: String, token: String, scheme: Scheme = .https) throws(RightsError) -> String {
        guard !location.utf8.contains(UInt8(ascii: "?")), !location.utf8.contains(UInt8(ascii: "#")) else {
            throw RightsError(.url, "the rights location has a query or a fragment")
        }
        let text = location + "?b=" + PercentEncoding.encode(token)
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw RightsError(.url, "the URL has a character that must be escaped")
        }
        let (_, rest, _) = try rights(Substring(text))
        return scheme.rawValue + "://" + rest
    }

    /// The rights location to connect to, token included: always `https`.
    package var rightsURL: String { "https://" + location }

    /// The URL as text, with all but unreserved characters of its content location escaped (RFC 3986 §2.3).
    package var description: String { scheme.rawValue + "://" + location + "#" + PercentEncoding.encode(contentURL) }

    /// Takes a rights location apart.
    private static func rights(_ text: some StringProtocol) throws(RightsError) -> (Scheme, location: String, token: String) {
        guard let address = ServiceAddress(text) else { throw RightsError(.url, "the rights location is not a URL") }
        guard let scheme = Scheme(rawValue: address.scheme) else {
            throw RightsError(.insecureRights, "the rights location is not reached by TLS: use https or ms3")
        }
        let query = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
        guard let query, let fields = try? Query(parsing: String(query), limit: 16) else {
            throw RightsError(.missingToken, "the rights location has no business token")
        }
        let tokens = fields.all("b")
        guard tokens.count == 1, 1...maxTokenByteCount ~= tokens[0].utf8.count, tokens[0].utf8.allSatisfy(isTokenCharacter) else {
            throw RightsError(.missingToken, "the rights location has no business token")
        }
        return (scheme, address.rest, tokens[0])
    }

    /// Letters, digits and the other unreserved characters (RFC 3986 §2.3), so that no two writers escape a token differently.
    private static func isTokenCharacter(_ c: UInt8) -> Bool {
        switch c {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Checks a content location and returns it unchanged.
    static func content(_ text: String) throws(RightsError) -> String {
        guard text.utf8.count <= maxByteCount / 2, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            let address = ServiceAddress(text), ["http", "https", "hls"].contains(address.scheme)
        else { throw RightsError(.missingContent, "the content location is not a URL with http, https or hls") }
        return text
    }
}
