// SPDX-License-Identifier: Apache-2.0

package import CLinux

/// A numeric IPv4 or IPv6 address; IPv4 mapped into IPv6 counts as IPv4.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes, in network order.
    public let bytes: [UInt8]

    /// Reads `192.0.2.1` or `2001:db8::1`, without brackets; nil for anything else, names too.
    ///
    /// - Parameter text: the address.
    public init?(_ text: some StringProtocol) {
        var address = clinux_address()
        guard unsafe clinux_parse_address(String(text), &address) == 0 else { return nil }
        bytes = Self.unmapped(address.array)
    }

    /// An address of 4 or 16 bytes in network order; nil for any other number of them.
    ///
    /// - Parameter bytes: the address's bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Self.unmapped(bytes)
    }

    package init?(_ address: clinux_address) {
        guard address.length > 0 else { return nil }
        bytes = address.array
    }

    /// Whether the address is a loopback address, which only this machine can have.
    public var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Whether it stands for every address of the machine.
    public var isWildcard: Bool { bytes.allSatisfy { $0 == 0 } }

    /// The usual form; IPv6 as in RFC 5952.
    public var description: String {
        guard bytes.count == 16 else { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = (0..<8).map { Int(bytes[$0 * 2]) << 8 | Int(bytes[$0 * 2 + 1]) }
        var zeros = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(1, zeros.count) { zeros = start..<end }
            start = max(end, start + 1)
        }
        func hex(_ part: ArraySlice<Int>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        return zeros.isEmpty ? hex(groups[...]) : hex(groups[..<zeros.lowerBound]) + "::" + hex(groups[zeros.upperBound...])
    }

    /// The form used in a URL.
    public var urlHost: String { bytes.count == 16 ? "[\(self)]" : description }

    private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        let prefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        return bytes.count == 16 && bytes.starts(with: prefix) ? Array(bytes[12...]) : bytes
    }
}

extension clinux_address {
    fileprivate var array: [UInt8] {
        var copy = bytes
        let count = Int(length)
        return unsafe withUnsafeBytes(of: &copy) { unsafe Array($0.prefix(count)) }
    }
}
