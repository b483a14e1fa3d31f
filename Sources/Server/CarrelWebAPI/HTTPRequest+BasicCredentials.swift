// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP

extension HTTPRequest {
    /// User and password of `Authorization: Basic …` (RFC 7617 §2), in UTF-8; nil if there is no such field or it is broken.
    ///
    /// The last colon divides them: account names may contain a colon, app passwords and edition credentials do not.
    package var basicCredentials: (user: String, password: String)? {
        guard let pair = basicPair, let colon = pair.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        return Self.texts(pair, dividedAt: colon)
    }

    /// The same, divided by the first colon as specified, for passwords chosen by their owners.
    package var basicCredentialsAtFirstColon: (user: String, password: String)? {
        guard let pair = basicPair, let colon = pair.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return Self.texts(pair, dividedAt: colon)
    }

    private static func texts(_ pair: [UInt8], dividedAt colon: Int) -> (user: String, password: String)? {
        guard let user = String(validating: pair[..<colon], as: UTF8.self),
            let password = String(validating: pair[(colon + 1)...], as: UTF8.self)
        else { return nil }
        return (user, password)
    }

    private var basicPair: [UInt8]? {
        guard let value = headers["Authorization"].map({ Array($0.utf8) }), value.count > 6,
            zip(value, "basic ".utf8).allSatisfy({ $0 | 0x20 == $1 })
        else { return nil }
        // With or without its padding, in either alphabet.
        var text: [UInt8] = []
        text.reserveCapacity(value.count)
        for character in value.dropFirst(6) {
            switch character {
            case UInt8(ascii: "="): return Base64URL.decode(characters: text)
            case UInt8(ascii: "+"): text.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): text.append(UInt8(ascii: "_"))
            default: text.append(character)
            }
        }
        return Base64URL.decode(characters: text)
    }
}
