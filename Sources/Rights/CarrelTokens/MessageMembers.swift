// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights

/// Reads the members of an object in a license message. A member of another type refuses the message; `null` is treated as
/// absent.
struct MessageMembers: Equatable {
    let json: JSONObject

    init(_ json: JSONObject) {
        self.json = json
    }

    private subscript(name: String) -> JSON? {
        guard let value = json[name], !value.isNull else { return nil }
        return value
    }

    /// The names of unknown members, each after a prefix. `null` is treated as absent.
    func unknown(besides known: Set<String>, after prefix: String = "") -> [String] {
        json.filter { !$0.value.isNull && !known.contains($0.name) }.map { prefix + $0.name }.sorted()
    }

    private func read<Value>(_ name: String, _ read: (JSON) -> Value?) throws(RightsError) -> Value? {
        guard let json = self[name] else { return nil }
        guard let value = read(json) else { throw RightsError(.malformed, "\(name) of the license message is malformed") }
        return value
    }

    /// A text of 1 to `maxByteCount` bytes without control characters.
    func text(_ name: String, maxByteCount: Int = 255) throws(RightsError) -> String? {
        try read(name) { json in json.string.flatMap { BusinessRules.isText($0, upTo: maxByteCount) ? $0 : nil } }
    }

    /// A list of strings; empty if absent.
    func texts(_ name: String) throws(RightsError) -> [String] {
        let texts: [String]?? = try read(name) { json in
            json.array.flatMap { array in
                let texts = array.compactMap { $0.string.flatMap { BusinessRules.isText($0) ? $0 : nil } }
                return texts.count == array.count && texts.count <= 256 ? texts : nil
            }
        }
        return (texts ?? nil) ?? []
    }

    func flag(_ name: String) throws(RightsError) -> Bool? { try read(name) { $0.bool } }

    /// A whole number from 0 on.
    func number(_ name: String) throws(RightsError) -> Int? {
        try read(name) { json in json.int.flatMap { 0...LicenseMessage.maxDuration ~= $0 ? $0 : nil } }
    }

    /// A date-time of RFC 3339 in the years 1970 to 9999.
    func instant(_ name: String) throws(RightsError) -> Instant? {
        try read(name) { json in
            json.string.flatMap { Instant.parse($0) }.flatMap { 0...253_402_300_799_999 ~= $0.milliseconds ? $0 : nil }
        }
    }

    func keyID(_ name: String) throws(RightsError) -> KeyID? {
        try read(name) { json in json.string.flatMap { KeyID(uuid: $0) } }
    }

    /// Bytes in base 64 with padding.
    func bytes(_ name: String, count: Int) throws(RightsError) -> [UInt8]? {
        try read(name) { json in json.string.flatMap { Base64.decode($0) }.flatMap { $0.count == count ? $0 : nil } }
    }

    func object(_ name: String) throws(RightsError) -> MessageMembers? {
        try read(name) { json in json.object.map { MessageMembers($0) } }
    }

    /// A list of objects; nil if absent.
    func objects(_ name: String) throws(RightsError) -> [MessageMembers]? {
        try read(name) { json in
            json.array.flatMap { array in
                let objects = array.compactMap { $0.object.map { MessageMembers($0) } }
                return objects.count == array.count ? objects : nil
            }
        }
    }
}
