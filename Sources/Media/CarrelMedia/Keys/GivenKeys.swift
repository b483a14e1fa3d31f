// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelCrypto

/// Keys that a caller passes in.
public struct GivenKeys: ContentKeySource {
    private var keys: [ContentKeyName: Secret] = [:]
    /// The key of everything that no other names.
    private var fallback: Secret?
    /// The key of all groups.
    private var group: Secret?

    /// No keys.
    public init() {}

    /// Whether there is none.
    public var isEmpty: Bool { keys.isEmpty && fallback == nil && group == nil }

    /// Adds a key in command-line syntax: `ID:KEY`.
    ///
    /// - Parameter text: `ID` is a key ID of 32 digits (dashes are ignored), a track number, `group` for the key that wraps the
    ///   keys of a group, `*` for everything else, or a content ID or key address verbatim from the file; `KEY` is 32 digits, or
    ///   64 if the cipher has 256-bit keys.
    /// - Throws: the error, without the key: a lower-case sentence without a period.
    public mutating func add(_ text: some StringProtocol) throws(MediaError) {
        guard let colon = text.lastIndex(of: ":") else { throw MediaError(.badKey, "a key is written ID:KEY") }
        let id = text[..<colon]
        guard let bytes = Hex.decode(text[text.index(after: colon)...]), bytes.count == 16 || bytes.count == 32 else {
            throw MediaError(.badKey, "\(Self.words(id)) is not 32 or 64 hexadecimal digits")
        }
        let key = Secret(bytes)
        switch id {
        case "*": fallback = key
        case "group": group = key
        default:
            let digits = String(id.filter { $0 != "-" })
            if digits.utf8.count == 32, let bytes = Hex.decode(digits) {
                keys[.id(bytes)] = key
            } else if let track = UInt32(id) {
                keys[.track(track)] = key
            } else if digits.isEmpty || digits.allSatisfy(\.isHexDigit) {
                throw MediaError(
                    .badKey,
                    "\(Self.shown(id)) is neither a key id of 32 hexadecimal digits, nor a track, nor 'group', nor '*'"
                )
            } else {
                // a content id or an address: media name one or the other
                keys[.content(String(id))] = key
                keys[.address(String(id))] = key
            }
        }
    }

    /// Maximum length of an ID in an error: a longer one may be a key, or part of a key, in the place of its ID.
    private static let shownLength = 10

    private static func words(_ id: some StringProtocol) -> String {
        id.utf8.count <= shownLength ? "the key of '\(id)'" : "the key behind the id"
    }

    private static func shown(_ id: some StringProtocol) -> String {
        id.utf8.count <= shownLength ? "'\(id)'" : "the id of a key"
    }

    /// Adds a key.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, or 32 if the cipher has 256-bit keys.
    ///   - name: what it is for; nil for everything without a more specific key.
    public mutating func add(_ key: [UInt8], for name: ContentKeyName?) { add(Secret(key), for: name) }

    /// Adds a key.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, or 32.
    ///   - name: what it is for; nil for everything without a more specific key.
    package mutating func add(_ key: Secret, for name: ContentKeyName?) {
        if let name { keys[name] = key } else { fallback = key }
    }

    /// The key id in a content id such as `urn:marlin:kid:00112233445566778899aabbccddeeff`; nil if it has none.
    private static func keyID(inContentID id: String) -> [UInt8]? {
        let prefix = "urn:marlin:kid:"
        guard id.hasPrefix(prefix), let bytes = Hex.decode(id.dropFirst(prefix.count)), bytes.count == 16 else { return nil }
        return bytes
    }

    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard let key = find(name) else { return .unknown }
        var grant = ContentKeyGrant(key: key)
        grant.isGiven = true
        return .granted(grant)
    }

    private func find(_ name: ContentKeyName) -> Secret? {
        if let key = keys[name] { return key }
        if case .content(let id) = name, let key = Self.keyID(inContentID: id).flatMap({ keys[.id($0)] }) { return key }
        if case .group = name, let group { return group }
        // the track is the last name tried, so that a key by name takes precedence
        if case .track = name { return fallback }
        if case .address = name { return fallback }
        return nil
    }
}
