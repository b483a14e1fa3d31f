// SPDX-License-Identifier: Apache-2.0

/// A block of addresses (RFC 4632): `10.0.0.0/8`, `2001:db8::/32`, or a single address.
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    private let base: IPAddress
    private let bits: Int

    /// Parses an address, or a block such as `10.0.0.0/8`.
    ///
    /// Nil if the text is neither an address nor a block, or has bits set after its prefix.
    ///
    /// - Parameter text: the address or block.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let base = IPAddress(first), parts.count <= 2 else { return nil }
        self.base = base
        guard parts.count == 2 else {
            bits = base.bytes.count * 8
            return
        }
        guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let bits = Int(parts[1]),
            bits <= base.bytes.count * 8
        else { return nil }
        self.bits = bits
        for (i, byte) in base.bytes.enumerated() where byte & ~Self.mask(i, bits) != 0 { return nil }
    }

    /// Whether the address lies in the block.
    public func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == base.bytes.count else { return false }
        for i in 0..<base.bytes.count where (address.bytes[i] ^ base.bytes[i]) & Self.mask(i, bits) != 0 { return false }
        return true
    }

    public var description: String { "\(base)/\(bits)" }

    private static func mask(_ byte: Int, _ bits: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: 0xff00 >> min(8, max(0, bits - byte * 8)))
    }
}
