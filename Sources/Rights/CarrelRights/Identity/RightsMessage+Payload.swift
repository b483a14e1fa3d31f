// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJOSE
package import CarrelJSON

extension RightsMessage {
    /// Arrays and objects inside one another in a message, and values in all.
    static let limits = JSONLimits(depth: 12, byteCount: 8 << 20, values: 1 << 20)

    /// The payload of a message, when the key signed it.
    ///
    /// - Throws: `rights.signature` for another key, `rights.malformed` for another kind or anything but a JSON object.
    package static func payload(of text: String, as kind: TypedJWS.Kind, by key: JWK) throws(RightsError) -> JSON {
        let unverified = try read(text, as: kind)
        return try payload(of: unverified, by: key)
    }

    /// A message before its signature is checked.
    ///
    /// - Throws: `rights.malformed`.
    package static func read(_ text: String, as kind: TypedJWS.Kind) throws(RightsError) -> TypedJWS.Unverified {
        do throws(JOSEError) {
            return try TypedJWS.Unverified(text, as: kind)
        } catch {
            throw RightsError(.malformed, "the message of type \(kind.type) cannot be read: \(error.message)")
        }
    }

    /// The payload of a message that was read, when the key signed it and it names this key.
    package static func payload(of message: TypedJWS.Unverified, by key: JWK) throws(RightsError) -> JSON {
        guard message.keyID == key.thumbprint else { throw RightsError(.signature, "the message is signed with another key") }
        let bytes: [UInt8]
        do throws(JOSEError) {
            bytes = try message.verified(by: key)
        } catch {
            throw RightsError(.signature, "the message was not signed with this key, or was altered")
        }
        return try json(bytes)
    }

    /// The payload before its signature is checked: to find the key that must have signed it.
    package static func unverifiedPayload(of message: TypedJWS.Unverified) throws(RightsError) -> JSON {
        try json(message.unverifiedPayload)
    }

    static func json(_ bytes: [UInt8]) throws(RightsError) -> JSON {
        guard let json = try? JSON.parse(bytes.rawSpan, limits: limits), json.object != nil else {
            throw RightsError(.malformed, "the message has no JSON object")
        }
        return json
    }
}

extension Instant {
    /// Whole seconds since 1970 (RFC 7519 §2, NumericDate).
    package var numericDate: JSON { .integer(milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000) }

    /// The instant to the second, as certificates and messages have it.
    package var wholeSecond: Instant {
        Instant(milliseconds: (milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000) * 1000)
    }
}

extension JSON {
    /// A NumericDate between 1970 and 9999.
    package func instant(_ name: String) -> Instant? {
        guard let seconds = self[name]?.int, 0...253_402_300_799 ~= seconds else { return nil }
        return Instant(milliseconds: Int64(seconds) * 1000)
    }

    package func validity(_ from: String, _ until: String) -> ClosedRange<Instant>? {
        guard let start = instant(from), let end = instant(until), start <= end else { return nil }
        return start...end
    }

    /// Bytes in base 64 for URLs.
    package func bytes(_ name: String) -> [UInt8]? { self[name]?.string.flatMap { Base64URL.decode($0) } }
}
