// SPDX-License-Identifier: Apache-2.0

/// A `Set-Cookie` field (RFC 6265bis §4.1).
public struct SetCookie: Sendable, CustomStringConvertible {
    /// The requests from other sites that include the cookie.
    public enum SameSite: String, Sendable {
        /// No request of another site.
        case strict = "Strict"
        /// Top-level navigation with a safe method.
        case lax = "Lax"
        /// Every request; browsers require ``SetCookie/isSecure``.
        case none = "None"
    }

    /// The name, a token (RFC 9110 §5.6.2).
    public let name: String
    /// The value, without quotation marks.
    public let value: String
    /// The path below which browsers send the cookie.
    public let path: String
    /// The lifetime in seconds; 0 deletes the cookie; nil keeps it for the browser's session.
    public let maxAge: Int?
    /// Whether browsers send the cookie over HTTPS only.
    public let isSecure: Bool
    /// Whether scripts cannot read the cookie.
    public let isHTTPOnly: Bool
    /// The requests of other sites that carry the cookie.
    public let sameSite: SameSite

    /// Creates a cookie. Traps if the name, the value or the path has a character that a cookie cannot hold.
    ///
    /// Traps when the name, the value or the path has a character that a cookie cannot hold.
    ///
    /// - Parameters:
    ///   - name: the cookie's name.
    ///   - value: its value.
    ///   - path: the path of the requests that get the cookie.
    ///   - maxAge: the lifetime in seconds; nil until the browser is closed.
    ///   - isSecure: true if it is sent over TLS only.
    ///   - isHTTPOnly: true if scripts cannot read it.
    ///   - sameSite: the rule for requests from other sites.
    public init(
        _ name: String,
        _ value: String,
        path: String = "/",
        maxAge: Int? = nil,
        isSecure: Bool,
        isHTTPOnly: Bool = true,
        sameSite: SameSite = .lax
    ) {
        precondition(Token.isValid(name), "a cookie's name must be a token")
        precondition(value.utf8.allSatisfy(Self.isValueOctet), "a cookie's value has a character it cannot have")
        precondition(path.hasPrefix("/") && path.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ";") })
        self.name = name
        self.value = value
        self.path = path
        self.maxAge = maxAge
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
    }

    /// The field's value.
    public var description: String {
        var text = "\(name)=\(value); Path=\(path)"
        if let maxAge { text += "; Max-Age=\(maxAge)" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        return text + "; SameSite=\(sameSite.rawValue)"
    }

    private static func isValueOctet(_ c: UInt8) -> Bool {
        c > 0x20 && c < 0x7f && c != UInt8(ascii: "\"") && c != UInt8(ascii: ",") && c != UInt8(ascii: ";")
            && c != UInt8(ascii: "\\")
    }
}
