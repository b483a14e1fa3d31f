// SPDX-License-Identifier: Apache-2.0

/// Globally reachable unicast addresses, by the IANA special-purpose address registries (RFC 6890).
enum PublicAddress {
    /// Whether an address is globally reachable unicast by the IANA special-purpose address registries (RFC 6890): not this
    /// host, private, shared (RFC 6598), loopback, link-local, documentation, benchmarking, multicast or reserved; and, since
    /// they hide an IPv4 address, not IPv4-mapped, 6to4 or Teredo. NAT64 (RFC 6052) is as public as the address inside.
    ///
    /// - Parameter address: 4 or 16 bytes in network order.
    /// - Returns: whether it is public; false for any other number of bytes.
    static func matches(_ address: [UInt8]) -> Bool {
        switch address.count {
        case 4: isPublicIPv4(address[...])
        case 16: isPublicIPv6(address)
        default: false
        }
    }

    private static func isPublicIPv4(_ address: ArraySlice<UInt8>) -> Bool {
        let number = address.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return !notPublic.contains { block in number >> (32 - block.length) == block.prefix >> (32 - block.length) }
    }

    private static let notPublic: [(prefix: UInt32, length: UInt32)] = [
        (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8), (0xa9fe_0000, 16), (0xac10_0000, 12),
        (0xc000_0000, 24), (0xc000_0200, 24), (0xc058_6300, 24), (0xc0a8_0000, 16), (0xc612_0000, 15), (0xc633_6400, 24),
        (0xcb00_7100, 24), (0xe000_0000, 4), (0xf000_0000, 4),
    ]

    private static func isPublicIPv6(_ address: [UInt8]) -> Bool {
        if address.starts(with: [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublicIPv4(address[12...]) }
        guard address[0] >> 5 == 1 else { return false }  // 2000::/3
        let first = UInt32(address[0]) << 8 | UInt32(address[1])
        let second = UInt32(address[2]) << 8 | UInt32(address[3])
        if first == 0x2001, second < 0x0200 || second == 0x0db8 { return false }
        if first == 0x2002 { return false }
        return !(first == 0x3fff && second < 0x1000)
    }
}
