// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelTesting
import CarrelTokens

/// Tokens to test with, and what alters them.
enum TokenSamples {
    static let now = Instant(milliseconds: 1_800_000_000_000)
    static let contentKey = Secret(Hex.decode("166634c675823c235a4a9446fad52e4d") ?? [])
    static let userKey = Secret((0..<16).map { UInt8($0) })
    static let key = SealedToken.Key(id: 7, secret: Secret([UInt8](repeating: 9, count: 32)))
    static let keys: [UInt8: Secret] = [key.id: key.secret]

    static var keyID: KeyID { KeyID(label: "first") }

    /// A license with everything that rules have.
    static var full: BusinessRules {
        var rules = BusinessRules(kind: .license, id: (100..<116).map { UInt8($0) }, expiresAt: now + .seconds(600))
        rules.redemptions = 3
        rules.contents = [
            .init(contentID: "urn:marlin:kid:\(keyID.hex)", keyID: keyID, key: contentKey),
            .init(contentID: "cid:y", keyID: KeyID(label: "second")),
            .init(contentID: "cid:z", keyID: KeyID(label: "third"), key: userKey),
        ]
        rules.rights = .rental(periodEnd: now + .seconds(86_400), playDuration: 172_800)
        rules.isStorable = true
        rules.account = "account-1"
        rules.user = .init(id: "reader-é-7", key: userKey)
        rules.title = "9788700000001"
        rules.cookie = "order \"1001\""
        rules.deviceThumbprint = Base64URL.encode([UInt8](repeating: 5, count: 32))
        rules.generalFlags = 1
        rules.outputControlFlags = .max
        rules.outputControlOverride = .init(imageConstraintLevel: 0)
        rules.unknownOutputBehavior = .sdOnly
        rules.extensions = [
            .init(type: "wudo", isCritical: false, payload: [0, 0, 0, 0]), .init(type: "abcd", isCritical: true, payload: []),
        ]
        rules.conditions.startsAt = now
        (rules.conditions.storageSeconds, rules.conditions.playCount, rules.conditions.maxPixels) = (86_400, 3, 520_000)
        (rules.conditions.isMetered, rules.conditions.attendedSeconds, rules.conditions.copyCharacters) = (true, 60, 0)
        (rules.conditions.printPages, rules.conditions.forbidsExport, rules.conditions.watermark) = (10, true, "é, order \"7\"")
        return rules
    }

    /// The least that each kind has.
    static func least(_ kind: BusinessRules.Kind) -> BusinessRules {
        var rules = BusinessRules(kind: kind, expiresAt: now + .seconds(1))
        switch kind {
        case .ms3: (rules.contents, rules.rights) = ([.init(contentID: "cid:x", keyID: keyID)], .session)
        case .license: (rules.title, rules.rights) = ("title", .buyToOwn)
        case .registration, .deregistration: rules.user = .init(id: "reader-7", key: userKey)
        }
        return rules
    }

    /// The members of a fixture.
    static func fixture(_ name: String) throws -> JSON {
        let bytes = try Fixtures.bytes("drm/\(name)")
        return try JSON.parse(bytes.rawSpan)
    }

    /// Calls `body` with each of a number of altered copies of a good input; the same ones in every run.
    static func mutate(_ good: [UInt8], _ count: Int = 20_000, _ body: ([UInt8]) throws -> Void) rethrows {
        var random = SplitMix(seed: UInt64(good.count))
        for _ in 0..<count {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 3: bytes.insert(UInt8.random(in: 0x20...0x7e, using: &random), at: place)
                case 4: bytes.remove(at: place)
                case 5: bytes.removeLast(Int.random(in: 1...min(8, bytes.count), using: &random))
                case 6: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
                default:
                    let end = min(bytes.count, place + Int.random(in: 1...12, using: &random))
                    bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
                }
            }
            try body(bytes)
        }
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
