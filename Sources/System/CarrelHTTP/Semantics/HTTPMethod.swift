// SPDX-License-Identifier: Apache-2.0

/// A request method (RFC 9110 §9), case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The token as sent, such as `GET`.
    public let rawValue: String

    /// - Parameter rawValue: the token as sent.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `GET` (RFC 9110 §9.3.1).
    public static let get = HTTPMethod(rawValue: "GET")
    /// `HEAD` (RFC 9110 §9.3.2).
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// `POST` (RFC 9110 §9.3.3).
    public static let post = HTTPMethod(rawValue: "POST")
    /// `PUT` (RFC 9110 §9.3.4).
    public static let put = HTTPMethod(rawValue: "PUT")
    /// `DELETE` (RFC 9110 §9.3.5).
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// `PATCH` (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// `OPTIONS` (RFC 9110 §9.3.7).
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// The methods this server knows; another token is answered with 501.
    public static let known: [HTTPMethod] = [.get, .head, .post, .put, .delete, .patch, .options]

    /// Whether the method promises to change nothing (RFC 9110 §9.2.1).
    public var isSafe: Bool { self == .get || self == .head || self == .options }

    public var description: String { rawValue }
}
