// SPDX-License-Identifier: Apache-2.0

/// The network of a client as limits count it: an IPv4 address, or the /64 of an IPv6 address, which one subscriber has.
package struct ClientNetwork: Hashable, Sendable {
    private let high: UInt64
    private let isIPv6: Bool

    package init(_ address: IPAddress) {
        isIPv6 = address.bytes.count == 16
        high = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The network of the client whose request is being answered; nil if no limit of one network applies: the home's socket, this
    /// machine, and work that no request asked for.
    package static var current: ClientNetwork? {
        guard case .network(let text, _) = Peer.current, let address = IPAddress(text), !address.isLoopback else { return nil }
        return ClientNetwork(address)
    }
}
