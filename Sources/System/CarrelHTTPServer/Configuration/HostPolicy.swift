// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The hosts that a request may name: protects against foreign pages whose name is rebound to our address.
struct HostPolicy: Sendable {
    private var names: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
    private var allowsAll = false

    init(allowed: [String], bound: [BoundAddress]) {
        for name in allowed {
            if name == "*" { allowsAll = true }
            names.insert(name.lowercased())
        }
        for case .tcp(let address, _, _) in bound where !address.isWildcard { names.insert(address.urlHost) }
    }

    /// Refuses a host that is none, or that is not served here. The address the connection came in by may always be named: a page
    /// cannot be made to think of a number as its own name.
    ///
    /// - Parameters:
    ///   - authority: host and optional port.
    ///   - local: the address the connection came in by.
    /// - Returns: whether the host may be named on every connection.
    /// - Throws: 400 or 421.
    func check(_ authority: String, local: @autoclosure () -> IPAddress?) throws(HTTPError) -> Bool {
        guard Self.isWellFormed(authority) else { throw HTTPError(.badRequest, "http.host", "malformed Host header") }
        if allowsAll { return true }
        let host = Self.host(of: authority).lowercased()
        if names.contains(host) { return true }
        let literal = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
        guard let literal, literal == local() else {
            throw HTTPError(
                .misdirectedRequest,
                "http.host",
                "this host is not served here; see the allowed hosts in the settings"
            )
        }
        return false
    }

    /// Whether the text is `host` or `host:port` with a host of names, IPv4 or IPv6 in brackets (RFC 3986 §3.2, no user part).
    private static func isWellFormed(_ authority: String) -> Bool {
        let host = host(of: authority)
        let suffix = authority.utf8.dropFirst(host.utf8.count)
        if !suffix.isEmpty {
            guard suffix.first == UInt8(ascii: ":"), suffix.count <= 6 else { return false }
            for c in suffix.dropFirst() where c < UInt8(ascii: "0") || c > UInt8(ascii: "9") { return false }
        }
        if host.hasPrefix("[") { return host.hasSuffix("]") && IPAddress(host.dropFirst().dropLast()) != nil }
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        for c in host.utf8 {
            switch c {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return true
    }

    private static func host(of authority: String) -> Substring {
        if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") { return authority[...close] }
        return authority.prefix { $0 != ":" }
    }
}
