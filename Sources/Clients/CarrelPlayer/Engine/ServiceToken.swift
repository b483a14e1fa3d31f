// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights
import CarrelTokens

/// A token issued by a portal: a compound URL, an action token (XML), or a license message (JWT).
public struct ServiceToken: Sendable {
    /// The forms of a token.
    public enum Form: String, Sendable, CaseIterable {
        /// A rights location with a token, `#`, and the content's location: for a stream.
        case compoundURL = "compound-url"
        /// An XML document for a license, a registration or a deregistration.
        case actionToken = "action-token"
        /// A JSON Web Token of an entitlement service.
        case licenseMessage = "license-message"
    }

    enum Content: Sendable {
        case url(CompoundURL)
        case action(ActionToken)
        case message(String)
    }

    let content: Content

    /// The longest token, in bytes.
    public static let maxByteCount = 32_768

    /// Reads a token of any format. Only the service can verify it.
    ///
    /// - Parameter text: a URL, an XML document or a JWT; white space around it is ignored.
    /// - Throws: `player.token` for other text; `player.token-missing`, `player.content-missing` and `player.rights-insecure` for
    ///   a URL without a token, without a fragment, and without TLS.
    public init(_ text: String) throws(PlayerError) {
        guard text.utf8.count <= Self.maxByteCount else { throw PlayerError(.token, "the token is longer than 32 KiB") }
        let trimmed = Self.trimmed(text)
        do throws(RightsError) {
            if trimmed.hasPrefix("<") {
                let bytes = Array(trimmed.utf8)
                content = .action(try ActionToken(parsing: bytes.rawSpan))
            } else if trimmed.firstRange(of: "://") != nil {
                content = .url(try CompoundURL(parsing: trimmed))
            } else if Self.isMessage(trimmed) {
                content = .message(trimmed)
            } else {
                throw RightsError(.malformed, "the text is neither a compound URL, nor an action token (XML), nor a JWT")
            }
        } catch {
            throw PlayerError(Self.code(error.code), error.message)
        }
    }

    private static func code(_ code: RightsError.Code) -> PlayerError.Code {
        switch code {
        case .missingToken: .missingToken
        case .missingContent: .missingContent
        case .insecureRights: .insecureRights
        default: .token
        }
    }

    /// The token's form.
    public var form: Form {
        switch content {
        case .url: .compoundURL
        case .action: .actionToken
        case .message: .licenseMessage
        }
    }

    /// Whether the token joins the device to a portal's user, or takes it away from one.
    public var isRegistration: Bool {
        if case .action(let token) = content { token.operation != .licenseAcquisition } else { false }
    }

    /// The readable parts of the token. The token itself is not among them.
    public var details: [(name: String, value: String)] {
        switch content {
        case .url(let url):
            return [("rights", String(url.rightsURL.prefix { $0 != "?" })), ("content", url.contentURL)]
        case .action(let token):
            let configuration = token.configuration
            return [
                ("operation", token.operation.rawValue), ("service", configuration.serviceID),
                ("configuration", configuration.location),
            ]
        case .message(let text):
            return Self.details(ofMessage: text)
        }
    }

    /// Key and dates that a license message names; it is not verified here.
    private static func details(ofMessage text: String) -> [(name: String, value: String)] {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let bytes = Base64URL.decode(parts[1]), let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 16))
        else {
            return []
        }
        return ["com_key_id", "id", "begin_date", "expiration_date"].compactMap { name in
            json[name]?.string.map { (name, $0) }
        }
    }

    private static func isMessage(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts.allSatisfy { !$0.isEmpty && Base64URL.decode($0) != nil }
    }

    static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0.isNewline || $0 == "\t" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
