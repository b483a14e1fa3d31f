// SPDX-License-Identifier: Apache-2.0

/// The network of a client for limits: an IPv4 address, or the /64 of an IPv6 address, usually of one subscriber.
package struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let isIPv6: Bool

    package init(_ address: IPAddress) {
        isIPv6 = address.bytes.count == 16
        high = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A short name, such as `6:20010db800000001`, different for each network.
    package var description: String { "\(isIPv6 ? 6 : 4):\(String(high, radix: 16))" }

    /// The network of the current request's client; nil if no limit per network applies: for the home's socket, this machine, and
    /// work outside requests.
    package static var current: ClientNetwork? {
        guard case .network(let text, _) = Peer.current, let address = IPAddress(text), !address.isLoopback else { return nil }
        return ClientNetwork(address)
    }
}
