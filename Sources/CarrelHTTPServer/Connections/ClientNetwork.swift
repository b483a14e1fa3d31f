import CarrelHTTP

/// The network of a client as limits count it: an IPv4 address, or the /64 of an IPv6 address, which one subscriber has.
package struct ClientNetwork: Hashable, Sendable {
    private let high: UInt64
    private let isIPv6: Bool

    package init(_ address: IPAddress) {
        isIPv6 = address.bytes.count == 16
        high = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil where no limit of one network applies: the home's socket, this machine, and proxies that speak for others.
    init?(_ peer: Peer, _ forwarding: Forwarding) {
        guard case .network(let text, _) = peer, let address = IPAddress(text), !address.isLoopback, !forwarding.trusts(address)
        else { return nil }
        self.init(address)
    }
}
