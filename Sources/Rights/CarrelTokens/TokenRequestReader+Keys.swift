// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights

/// Content ids, key ids and keys: of one piece of content, or of several with numbers from 0 on.
extension TokenRequestReader {
    /// The names that may have a number.
    private static let names = ["contentId", "contentKey", "kid", "ek", "kek"]

    /// The pieces of content that a request names, at least one.
    func contents() throws(TokenRefusal) -> [BusinessRules.Content] {
        let indices = try parameters.indices(of: Self.names, limit: BusinessRules.maxContents)
        guard let indices else { return [try content("")] }
        for name in Self.names where name != "kek" {
            guard try parameters.text(name) == nil else {
                throw TokenRefusal(.value, "\(name) is given with and without a number")
            }
        }
        var contents: [BusinessRules.Content] = []
        for index in indices { contents.append(try content(".\(index)")) }
        guard Set(contents.map(\.keyID)).count == contents.count else { throw TokenRefusal(.keyIDTwice) }
        return contents
    }

    /// A key as 32 hexadecimal digits; nil if absent.
    func key(_ name: String) throws(TokenRefusal) -> Secret? {
        guard let text = try parameters.text(name) else { return nil }
        guard text.utf8.count == 32 else { throw TokenRefusal(.keyLength, name) }
        guard let bytes = Hex.decode(text) else { throw TokenRefusal(.key, name) }
        return Secret(bytes)
    }

    /// One piece of content. Its key ID is the given one, the one in its content ID, or the hash of its content ID as a label;
    /// without a content ID, it is named by its key ID.
    private func content(_ number: String) throws(TokenRefusal) -> BusinessRules.Content {
        let contentID = try parameters.text("contentId\(number)")
        if let contentID {
            guard BusinessRules.isContentID(contentID) else {
                throw TokenRefusal(.value, "contentId is not 1 to 255 visible ASCII characters")
            }
        }
        let named = contentID.flatMap { KeyID(inContentID: $0) }
        let key = try contentKey(number)
        let given = try keyID("kid\(number)")
        guard given != nil || (contentID != nil && key != nil) else { throw TokenRefusal(.keyIDMissing) }
        if let named, let given, named != given {
            throw TokenRefusal(.keyIDWrong, "kid is not the id that contentId names")
        }
        guard let keyID = given ?? named ?? contentID.map({ KeyID(label: $0) }) else { throw TokenRefusal(.keyIDMissing) }
        return BusinessRules.Content(contentID: contentID ?? keyID.contentID, keyID: keyID, key: key)
    }

    /// The key in plain form, or unwrapped (RFC 3394); nil if the key store has it.
    private func contentKey(_ number: String) throws(TokenRefusal) -> Secret? {
        let key = try key("contentKey\(number)")
        let wrapped = try parameters.text("ek\(number)")
        let ownWrapper = try parameters.text("kek\(number)")
        let sharedWrapper = number.isEmpty ? nil : try parameters.text("kek")
        guard key == nil || (wrapped == nil && ownWrapper == nil) else { throw TokenRefusal(.keyTwice) }
        guard let wrapped else {
            guard ownWrapper == nil else { throw TokenRefusal(.value, "kek is given without ek") }
            return key
        }
        guard let wrapper = ownWrapper ?? sharedWrapper else { throw TokenRefusal(.value, "ek is given without kek") }
        guard wrapper.utf8.count == 32 || wrapper.utf8.count == 64, let wrapperBytes = Hex.decode(wrapper),
            wrapped.utf8.count == 48,
            let wrappedBytes = Hex.decode(wrapped),
            let unwrapped = try? AESKeyWrap.unwrap(wrappedBytes.rawSpan, under: Secret(wrapperBytes)), unwrapped.count == 16
        else { throw TokenRefusal(.wrappedKey) }
        return unwrapped
    }

    /// A key ID as 32 hexadecimal digits, or `^` and a label of 1 to 64 characters; nil if absent.
    private func keyID(_ name: String) throws(TokenRefusal) -> KeyID? {
        guard let text = try parameters.text(name) else { return nil }
        if text.utf8.first == UInt8(ascii: "^") {
            let label = String(decoding: text.utf8.dropFirst(), as: UTF8.self)
            guard 1...64 ~= label.unicodeScalars.count else { throw TokenRefusal(.labelLength) }
            return KeyID(label: label)
        }
        guard text.utf8.count == 32 else { throw TokenRefusal(.keyIDLength) }
        guard let id = KeyID(hex: text) else { throw TokenRefusal(.keyIDWrong, "kid is not hexadecimal") }
        return id
    }
}
