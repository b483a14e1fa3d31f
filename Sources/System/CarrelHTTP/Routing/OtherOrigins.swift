// SPDX-License-Identifier: Apache-2.0

/// The origins of other sites whose pages may use the routes that are open to them (WHATWG Fetch §3.2, "CORS").
///
/// A page of such an origin may read the responses and send state-changing requests. Its cookies never count, and no response allows
/// credentials: pages of other origins send a token.
public struct OtherOrigins: Sendable, Equatable {
    /// Whether every origin is allowed.
    private var allowsAll = false
    /// In the form in which browsers write them.
    private var origins: Set<String> = []

    /// No other origin: routes behave as if none were open.
    public init() {}

    /// Creates a list of origins.
    ///
    /// - Parameter origins: such as `https://play.example.org`, `capacitor://localhost`, `null` (pages without an origin), or `*` for all.
    ///   Texts for which ``isOrigin(_:)`` is false match nothing.
    public init(_ origins: [String]) {
        allowsAll = origins.contains("*")
        self.origins = Set(origins.lazy.filter { $0 != "*" }.map(Self.normalized))
    }

    /// Whether no origin is allowed.
    public var isEmpty: Bool { !allowsAll && origins.isEmpty }

    /// Whether a text is `*`, `null`, or a scheme, `://` and an authority with nothing after it (RFC 6454 §6.2).
    ///
    /// - Parameter text: the text.
    /// - Returns: true if it can match an origin.
    public static func isOrigin(_ text: String) -> Bool {
        if text == "*" || text == "null" { return true }
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { return false }
        let scheme = text.utf8[..<separator.lowerBound]
        let authority = text.utf8[separator.upperBound...]
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
        }
        return scheme.first.map { isAlphanumeric($0) && $0 > 0x39 } == true
            && scheme.allSatisfy { isAlphanumeric($0) || "+-.".utf8.contains($0) }
            && !authority.isEmpty && authority.allSatisfy { isAlphanumeric($0) || ".-_:[]".utf8.contains($0) }
    }

    /// Lower case, without the scheme's own port.
    private static func normalized(_ origin: String) -> String {
        let lower = origin.lowercased()
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where lower.hasPrefix(scheme) && lower.hasSuffix(port) {
            return String(lower.dropLast(port.count))
        }
        return lower
    }

    /// Whether pages of an origin, as `Origin` has it, are allowed.
    func allows(_ origin: String) -> Bool {
        allowsAll || origins.contains(Self.normalized(origin))
    }

    /// Whether a page of an allowed origin sent the request.
    func allows(_ request: HTTPRequest) -> Bool {
        request.headers["Origin"].map(allows) == true
    }

    /// The method that the request asks permission for (WHATWG Fetch §4.8); nil unless the request is a preflight.
    static func methodOfPreflight(_ request: HTTPRequest) -> HTTPMethod? {
        guard request.method == .options, request.headers["Origin"] != nil else { return nil }
        return request.headers["Access-Control-Request-Method"].map { HTTPMethod(rawValue: $0) }
    }

    /// The request without its cookies where another origin made a browser send it.
    ///
    /// A link that a person follows from another site is not a request of that site's scripts, and keeps them.
    func withoutForeignCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard request.headers["Cookie"] != nil else { return request }
        let isForeign: Bool
        if let origin = request.headers["Origin"] {
            isForeign = !request.isOwnOrigin(origin)
        } else {
            let site = request.headers["Sec-Fetch-Site"] ?? "none"
            isForeign = site != "same-origin" && site != "none" && request.headers["Sec-Fetch-Mode"] != "navigate"
        }
        guard isForeign else { return request }
        var stripped = request
        stripped.headers["Cookie"] = nil
        return stripped
    }

    /// Lets pages of allowed origins read a response.
    func admit(_ response: inout HTTPResponse, to request: HTTPRequest) {
        response.headers.addToVary("Origin")
        guard let origin = request.headers["Origin"], allows(origin) else { return }
        response.headers["Access-Control-Allow-Origin"] = allowsAll ? "*" : origin
        response.headers["Access-Control-Expose-Headers"] = Self.exposed
    }

    /// Fields of responses that scripts may read, in addition to those that they always may (WHATWG Fetch §2.2.6).
    private static let exposed =
        "Accept-Ranges, Content-Range, ETag, Link, Location, Retry-After, WWW-Authenticate, X-AxDRM-ErrorMessage, "
        + "X-AxDRM-Identity, X-AxDRM-Server, X-AxDRM-Version, X-Request-Id"

    /// The response to a preflight.
    ///
    /// - Parameters:
    ///   - request: the preflight.
    ///   - methods: the methods of the open routes at its path.
    /// - Returns: 204 with the allowed methods and fields; 403 for an origin that is not allowed.
    func response(toPreflight request: HTTPRequest, methods: [HTTPMethod]) -> HTTPResponse {
        guard allows(request) else {
            var refusal = HTTPError.otherOrigin(
                "this origin is not allowed; see http.cors-origins in the settings"
            )
            .response(requestID: request.id)
            refusal.headers.addToVary("Origin")
            return refusal
        }
        var response = HTTPResponse(.noContent, headers: ["Access-Control-Max-Age": "3600"], body: .empty)
        admit(&response, to: request)
        response.headers["Access-Control-Expose-Headers"] = nil
        response.headers["Access-Control-Allow-Methods"] = methods.map(\.rawValue).sorted().joined(separator: ", ")
        if let fields = Self.requestedFields(request) { response.headers["Access-Control-Allow-Headers"] = fields }
        for name in ["Access-Control-Request-Method", "Access-Control-Request-Headers"] { response.headers.addToVary(name) }
        return response
    }

    /// The names of the fields that the page wants to send. All may be sent: none makes a browser send user data.
    private static func requestedFields(_ request: HTTPRequest) -> String? {
        guard let list = request.headers.list("Access-Control-Request-Headers"), list.utf8.count <= 2048 else { return nil }
        let names = list.split(separator: ",").map { String($0).trimmingASCIISpace() }
        return names.isEmpty || !names.allSatisfy { Token.isValid($0) } ? nil : names.joined(separator: ", ")
    }
}

extension HTTPFields {
    /// Adds a name to `Vary` (RFC 9110 §12.5.5) unless it is there.
    mutating func addToVary(_ name: String) {
        guard let vary = list("Vary") else {
            self["Vary"] = name
            return
        }
        let names = vary.split(separator: ",").map { String($0).trimmingASCIISpace().lowercased() }
        if vary != "*", !names.contains(name.lowercased()) { self["Vary"] = "\(vary), \(name)" }
    }
}
