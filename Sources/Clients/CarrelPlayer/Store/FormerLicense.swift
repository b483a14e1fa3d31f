// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// The state of a removed license. If it is redeemed again, a rental's time, its play count and its used rights continue from here.
struct FormerLicense: Sendable, Equatable {
    var sequence: Int
    var firstPlay: Instant?
    var plays: Int
    var reported: Int
    /// The used amounts of counted rights.
    var rights: UsedRights
    /// Whether it was returned to the service: it cannot be added again.
    var isReleased: Bool
    /// Whether its row could not be read when it was removed. Its state is unknown, and everything that can be counted counts as used.
    var isLost = false

    /// The state of a license whose row cannot be read.
    static let lost: FormerLicense = {
        var former = FormerLicense(sequence: 0, firstPlay: nil, plays: 0, reported: 0, rights: .lost, isReleased: false)
        former.isLost = true
        return former
    }()

    static func place(_ id: String) -> String { "former license \(id)" }

    init(sequence: Int, firstPlay: Instant?, plays: Int, reported: Int, rights: UsedRights, isReleased: Bool) {
        self.sequence = sequence
        self.firstPlay = firstPlay
        self.plays = plays
        self.reported = reported
        self.rights = rights
        self.isReleased = isReleased
    }

    var json: JSON {
        var object: JSONObject = [
            "sequence": .integer(sequence), "plays": .integer(plays), "reported": .integer(reported),
            "released": .bool(isReleased),
        ]
        if isLost { object["lost"] = true }
        object["first"] = firstPlay.map { .integer($0.milliseconds) }
        object["used"] = rights.json
        return .object(object)
    }

    /// - Throws: `player.store-damaged`.
    init(_ json: JSON) throws(PlayerError) {
        guard let sequence = json["sequence"]?.int, let plays = json["plays"]?.int, let reported = json["reported"]?.int,
            let isReleased = json["released"]?.bool
        else { throw RowSeal.damaged }
        self.init(
            sequence: sequence,
            firstPlay: json["first"]?.int.map { Instant(milliseconds: Int64($0)) },
            plays: plays,
            reported: reported,
            rights: try UsedRights(json["used"]),
            isReleased: isReleased
        )
        isLost = json["lost"]?.bool ?? false
    }
}
