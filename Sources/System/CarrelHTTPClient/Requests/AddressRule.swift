// SPDX-License-Identifier: Apache-2.0

/// The addresses that a request may connect to. The rule is applied to the actual address of each connection, after resolving the
/// host's name, so that no spelling of an address bypasses it; reused connections are checked again.
public enum AddressRule: Sendable {
    /// Every address, and Unix sockets.
    case any
    /// Only those that the closure takes, of 4 or 16 bytes in network order, and no Unix socket.
    case only(@Sendable (_ address: [UInt8]) -> Bool)
    /// Only globally reachable unicast addresses (``isPublic(_:)``), and no Unix socket.
    case publicOnly
    /// Every address for the origins (scheme, host and port; RFC 6454 §4) of these URLs, ``publicOnly`` for every other origin, and no Unix
    /// socket. For content whose address the user named, and which refers to others: each redirect is judged by the origin that it leads to.
    case publicExcept(originsOf: [String])
    /// Every address for named origins, until one of them leads to a public address: from then on only public ones for it, too.
    /// ``publicOnly`` for every other origin, and no Unix socket. Requests that share the object share its findings.
    case named(NamedOrigins)

    /// The rule for one URL: never ``publicExcept(originsOf:)`` or ``named(_:)``.
    ///
    /// - Parameter url: the URL of the request, or of a redirect's target.
    /// - Returns: for a named origin ``any``, or its allowed addresses; ``publicOnly`` for another origin, and for a malformed
    ///   URL.
    func resolved(for url: String) -> AddressRule {
        switch self {
        case .any, .only, .publicOnly: return self
        case .publicExcept(let urls):
            guard let origin = try? CurlURL(url).origin else { return .publicOnly }
            return urls.contains { (try? CurlURL($0).origin) == origin } ? .any : .publicOnly
        case .named(let origins):
            guard let name = origins.name(of: url) else { return .publicOnly }
            return .only { origins.allows($0, for: name) }
        }
    }

    /// Notes the address that a request for a URL goes to.
    func note(_ address: [UInt8], for url: String) {
        if case .named(let origins) = self, let name = origins.name(of: url) { origins.note(address, for: name) }
    }

    /// Whether a connection may lead to an address of 4 or 16 bytes in network order.
    func allows(_ address: [UInt8]) -> Bool {
        switch self {
        case .any: true
        case .only(let takes): [4, 16].contains(address.count) && takes(address)
        case .publicOnly, .publicExcept, .named: Self.isPublic(address)
        }
    }

    /// Whether every address is allowed, whatever the URL.
    var isAny: Bool { if case .any = self { true } else { false } }
}

extension AddressRule {
    /// Whether an address is globally reachable unicast by the IANA special-purpose address registries (RFC 6890): not this
    /// host, private, shared (RFC 6598), loopback, link-local, documentation, benchmarking, multicast or reserved; and, since
    /// they hide an IPv4 address, not IPv4-mapped, 6to4 or Teredo. NAT64 (RFC 6052) is as public as the address inside.
    ///
    /// - Parameter address: 4 or 16 bytes in network order.
    /// - Returns: false for any other number of bytes, too.
    public static func isPublic(_ address: [UInt8]) -> Bool { PublicAddress.matches(address) }
}
