// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import Glibc

/// The system's cryptographic generator (getentropy(3)), for what may be seen: identifiers, nonces, salts. Keys come from
/// `Secret.random`.
package enum Random {
    /// `count` bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // it gives no more than 256 at a time
            while initialized < count {
                let piece = unsafe buffer[initialized..<min(initialized + 256, count)]
                guard unsafe getentropy(UnsafeMutableBufferPointer(rebasing: piece).baseAddress, piece.count) == 0 else {
                    fatalError("the system has no randomness")
                }
                initialized += unsafe piece.count
            }
        }
    }

    /// A random UUID (version 4, RFC 9562 §5.4) in lower case.
    package static func uuid() -> String {
        text(bytes(16), version: 4)
    }

    /// A time-ordered UUID (version 7, RFC 9562 §5.7) in lower case: 74 bits are random, and later UUIDs sort after earlier ones,
    /// so that rows with such keys are written next to each other.
    package static func uuid(at moment: Instant) -> String {
        let milliseconds = UInt64(bitPattern: moment.milliseconds)
        let time = stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: milliseconds >> UInt64($0)) }
        return text(time + bytes(10), version: 7)
    }

    private static func text(_ random: [UInt8], version: UInt8) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, random) in random.enumerated() {
            let byte =
                switch index {
                case 6: random & 0x0f | version << 4
                case 8: random & 0x3f | 0x80
                default: random
                }
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
