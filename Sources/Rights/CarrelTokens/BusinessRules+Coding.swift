// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelRights

/// The binary form of rules inside a token: two bytes with the length of a canonical JSON text (RFC 8785), the text, and the
/// keys, 16 bytes each: the user's key, then the content keys that the rules include. Keys are not in the text, because the
/// memory of texts is not wiped.
///
/// Rules in any other encoding are refused: there is exactly one form, and a member of a later version is not overlooked.
extension BusinessRules {
    /// The version of the form.
    private static let version = 1

    /// The bytes to seal.
    ///
    /// - Throws: `rights.malformed` for rules that break a bound.
    func encode() throws(RightsError) -> Secret {
        try check()
        let text = JSON.object(json).writeCanonical()
        guard 2 + text.count + keys.count * 16 <= SealedToken.maxRulesByteCount else {
            throw RightsError(.malformed, "the rules do not fit into a token of 4 KiB: grant fewer keys in one")
        }
        var head: [UInt8] = []
        head.append(bigEndian: UInt16(text.count))
        return Secret.joined([Secret(head + text)] + keys)
    }

    /// Reads sealed bytes.
    ///
    /// - Throws: `rights.token`.
    static func decode(_ sealed: Secret) throws(RightsError) -> BusinessRules {
        let rules = sealed.withBytes { bytes in try? Self(decoding: bytes) }
        guard let rules, let again = try? rules.encode(), again == sealed else {
            throw RightsError(.token, "the token's rules are malformed or of another version")
        }
        return rules
    }

    private var keys: [Secret] { (user.map { [$0.key] } ?? []) + contents.compactMap(\.key) }

    private var json: JSONObject {
        var json: JSONObject = [
            "v": .integer(Self.version), "kind": .integer(kind.rawValue), "jti": .string(idText),
            "exp": .integer(expiresAt.milliseconds), "uses": .integer(redemptions),
        ]
        if !contents.isEmpty { json["contents"] = .array(contents.map { .object($0.json) }) }
        json["rights"] = rights?.json
        if isStorable { json["storable"] = true }
        json["account"] = account.map { .string($0) }
        json["user"] = user.map { .string($0.id) }
        json["title"] = title.map { .string($0) }
        json["cookie"] = cookie.map { .string($0) }
        json["iss"] = issuer.map { .string($0) }
        json["cnf"] = deviceThumbprint.map { .string($0) }
        if generalFlags != 0 { json["flags"] = .integer(generalFlags) }
        if outputControlFlags != 0 { json["output"] = .integer(outputControlFlags) }
        json["override"] = outputControlOverride.map { .integer($0.imageConstraintLevel) }
        json["unknownOutput"] = unknownOutputBehavior.map { .string($0.rawValue) }
        if !conditions.isEmpty { json["terms"] = .object(conditions.json) }
        if !extensions.isEmpty { json["extensions"] = .array(extensions.map { .object($0.json) }) }
        return json
    }

    /// Reads the known members; ``decode(_:)`` refuses others.
    private init(decoding bytes: RawSpan) throws {
        var cursor = ByteCursor(bytes)
        let text = try cursor.slice(Int(try cursor.u16("length")), "rules")
        let json = try JSON.parse(text, limits: JSONLimits(depth: 4, byteCount: 4096, values: 512))
        func read<Value>(_ value: Value?) throws(RightsError) -> Value {
            guard let value else { throw RightsError(.token) }
            return value
        }
        self.init(
            kind: try read(json["kind"]?.int.flatMap { UInt8(exactly: $0) }.flatMap { Kind(rawValue: $0) }),
            id: try read(json["jti"]?.string.flatMap { Hex.decode($0) }),
            expiresAt: Instant(milliseconds: Int64(try read(json["exp"]?.int)))
        )
        redemptions = try read(json["uses"]?.int)
        rights = try json["rights"].map { try read(Rights($0)) }
        isStorable = json["storable"]?.bool ?? false
        account = json["account"]?.string
        title = json["title"]?.string
        cookie = json["cookie"]?.string
        issuer = json["iss"]?.string
        deviceThumbprint = json["cnf"]?.string
        generalFlags = try read(UInt32(exactly: json["flags"]?.int ?? 0))
        outputControlFlags = try read(UInt32(exactly: json["output"]?.int ?? 0))
        outputControlOverride = json["override"]?.int.flatMap { UInt8(exactly: $0) }.map { .init(imageConstraintLevel: $0) }
        unknownOutputBehavior = json["unknownOutput"]?.string.flatMap { UnknownOutputBehavior(rawValue: $0) }
        conditions = try json["terms"].map { (json) throws(RightsError) in try LicenseConditions(json) } ?? LicenseConditions()
        for json in json["extensions"]?.array ?? [] { extensions.append(try read(Extension(json))) }
        if let id = json["user"]?.string { user = User(id: id, key: Secret(copying: try cursor.slice(16, "key"))) }
        for json in json["contents"]?.array ?? [] {
            let key = json["key"]?.bool == true ? Secret(copying: try cursor.slice(16, "key")) : nil
            contents.append(
                Content(
                    contentID: try read(json["id"]?.string),
                    keyID: try read(KeyID(hex: json["kid"]?.string ?? "") ?? KeyID(inContentID: json["id"]?.string ?? "")),
                    key: key
                )
            )
        }
        try cursor.finish("rules")
    }
}

extension BusinessRules.Content {
    fileprivate var json: JSONObject {
        var json: JSONObject = ["id": .string(contentID)]
        // most content ids name their key
        if contentID != keyID.contentID { json["kid"] = .string(keyID.hex) }
        if key != nil { json["key"] = true }
        return json
    }
}

extension BusinessRules.Rights {
    fileprivate var json: JSON {
        switch self {
        case .session: "session"
        case .buyToOwn: "own"
        case .rental(let end, let duration): ["until": .integer(end.milliseconds), "play": .integer(duration)]
        }
    }

    fileprivate init?(_ json: JSON) {
        switch json.string {
        case "session": self = .session
        case "own": self = .buyToOwn
        default:
            guard let end = json["until"]?.int, let duration = json["play"]?.int else { return nil }
            self = .rental(periodEnd: Instant(milliseconds: Int64(end)), playDuration: duration)
        }
    }
}

extension BusinessRules.Extension {
    fileprivate var json: JSONObject {
        ["type": .string(type), "critical": .bool(isCritical), "payload": .string(Base64URL.encode(payload))]
    }

    fileprivate init?(_ json: JSON) {
        guard let type = json["type"]?.string, let isCritical = json["critical"]?.bool,
            let payload = json["payload"]?.string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        self.init(type: type, isCritical: isCritical, payload: payload)
    }
}
