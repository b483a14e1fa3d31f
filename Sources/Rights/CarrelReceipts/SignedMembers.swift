// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// Reads the members of a store's signed payload.
enum SignedMembers {
    /// Identifiers and names: visible ASCII, no slash, which would be part of a path.
    static func text(_ name: String, of object: JSONObject) throws(ReceiptError) -> String {
        guard let text = object[name]?.string.flatMap({ Self.text($0.utf8) }) else {
            throw ReceiptError(.malformed, "\(name) is missing or no identifier")
        }
        return text
    }

    /// Decodes bytes under the same rules; nil if they are invalid.
    static func text(_ bytes: some Collection<UInt8>) -> String? {
        guard 1...255 ~= bytes.count, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func instant(_ name: String, of object: JSONObject) throws(ReceiptError) -> Instant {
        guard let instant = try instantIfPresent(name, of: object) else { throw ReceiptError(.malformed, "\(name) is missing") }
        return instant
    }

    /// Milliseconds since 1970, up to the year 9999.
    static func instantIfPresent(_ name: String, of object: JSONObject) throws(ReceiptError) -> Instant? {
        guard let value = object[name], value != .null else { return nil }
        guard let number = value.int, 0...253_402_300_799_999 ~= number else {
            throw ReceiptError(.malformed, "\(name) is not a time")
        }
        return Instant(milliseconds: Int64(number))
    }
}
