// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// A message of a ClearKey player to a license server: a request for keys, or the record that it destroyed a stored license.
package struct ClearKeyRequest: Sendable, Equatable {
    /// The session that asks (W3C EME §5.1, `MediaKeySessionType`).
    package enum Session: String, Sendable, CaseIterable {
        /// Its keys are lost with the session.
        case temporary
        /// Its license is stored.
        case persistent = "persistent-license"
    }

    /// The purpose of the message.
    package enum Purpose: Sendable, Equatable {
        /// A license request (W3C EME §9.1.3).
        case license(Session)
        /// A record of license destruction, without a session type (W3C EME §9.1.5).
        case release
    }

    /// The ids of the keys, each once, in the order of the message; 1 to 512 bytes each.
    package let keyIDs: [[UInt8]]
    package let purpose: Purpose
    /// Whether the ids are in the plain alphabet or padded: the player may read no other form.
    package let isPlain: Bool

    /// The largest message that is read, in bytes.
    package static let maxByteCount = 512 << 10
    /// Bytes of a key id at most (W3C EME §5.2).
    private static let maxIDByteCount = 512
    /// Ids of a message at most, unless the reader sets a narrower bound.
    package static let maxKeyIDs = 256

    /// - Parameters:
    ///   - keyIDs: the ids of the keys.
    ///   - purpose: the purpose of the message.
    package init(_ keyIDs: [[UInt8]], _ purpose: Purpose) {
        self.keyIDs = keyIDs
        self.purpose = purpose
        isPlain = false
    }

    /// Reads a message. Further members are ignored.
    ///
    /// - Parameters:
    ///   - bytes: JSON in UTF-8.
    ///   - limit: the number of key ids at most.
    /// - Throws: `eme.malformed` unless it is an object with key ids and a known session type; `eme.too-many-keys`.
    package init(parsing bytes: RawSpan, limit: Int = maxKeyIDs) throws(EMEError) {
        let object = try Self.object(bytes)
        guard let list = object["kids"]?.array, !list.isEmpty else {
            throw EMEError(.malformed, "the request names no key: kids must be an array of key ids")
        }
        guard list.count <= limit else {
            throw EMEError(.tooManyKeys, "the request names \(list.count) keys, and \(limit) are allowed")
        }
        var seen: Set<[UInt8]> = []
        var (ids, isPlain): ([[UInt8]], Bool) = ([], false)
        for element in list {
            guard let text = element.string, text.utf8.count <= 2 * Self.maxIDByteCount, let id = KeyText.decode(text),
                1...Self.maxIDByteCount ~= id.count
            else { throw EMEError(.malformed, "a key id of the request is not base 64 of 1 to 512 bytes") }
            isPlain = isPlain || KeyText.isPlain(text)
            if seen.insert(id).inserted { ids.append(id) }
        }
        keyIDs = ids
        self.isPlain = isPlain
        guard let type = object["type"], !type.isNull else {
            purpose = .release
            return
        }
        guard let session = type.string.flatMap({ Session(rawValue: $0) }) else {
            throw EMEError(.malformed, "the session type of the request is neither temporary nor persistent-license")
        }
        purpose = .license(session)
    }

    /// The message, or the acknowledgement of a release, which has the same form (W3C EME §9.1.6).
    package func write() -> [UInt8] {
        var object: JSONObject = ["kids": .array(keyIDs.map { .string(KeyText.encode($0, isPlain: isPlain)) })]
        if case .license(let session) = purpose { object["type"] = .string(session.rawValue) }
        return JSON.object(object).write()
    }

    private static func object(_ bytes: RawSpan) throws(EMEError) -> JSONObject {
        let limits = JSONLimits(depth: 8, byteCount: maxByteCount, values: 32_768)
        guard let object = (try? JSON.parse(bytes, limits: limits))?.object else {
            throw EMEError(.malformed, "the request is not a JSON object of at most \(maxByteCount) bytes")
        }
        return object
    }
}
