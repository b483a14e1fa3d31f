// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelJSON
import CarrelRights
package import CarrelStore

/// A license in the store, with its local state.
package struct LicenseRow: Sendable {
    let id: String
    var sequence: Int
    var data: String
    var contentIDs: [String]
    var tag: String
    var priority: Int
    var expiresAt: Instant?
    let addedAt: Instant
    var firstPlay: Instant?
    var plays = 0
    var reported = 0
    /// The used amounts of counted rights.
    var rights = UsedRights()

    /// A license that comes into the store.
    init(_ license: License, data: String, tag: String, priority: Int, addedAt: Instant) {
        id = license.id
        sequence = license.sequence
        self.data = data
        contentIDs = Self.contentIDs(license)
        self.tag = tag
        self.priority = priority
        self.addedAt = addedAt
        expiresAt = LicenseRecord(license).end
    }

    /// The content's own id, and the ids of its keys as content ids (`urn:marlin:kid:`).
    static func contentIDs(_ license: License) -> [String] {
        var ids = [license.contentID]
        for key in license.keys where !ids.contains("urn:marlin:kid:\(key.id.hex)") { ids.append("urn:marlin:kid:\(key.id.hex)") }
        return ids
    }

    package static func place(_ id: String) -> String { "license \(id)" }

    package var json: JSON {
        var object: JSONObject = [
            "license": .string(data), "contents": .array(contentIDs.map { .string($0) }), "tag": .string(tag),
            "plays": .integer(plays), "reported": .integer(reported), "sequence": .integer(sequence),
        ]
        object["first"] = firstPlay.map { .integer($0.milliseconds) }
        object["used"] = rights.json
        return .object(object)
    }

    /// Reads the columns `id, sealed, priority, expires, added`.
    package init(_ row: Row, _ seal: RowSeal) throws {
        id = try row.text(0)
        let json = try seal.open(try row.blob(1), at: Self.place(id))
        guard let data = json["license"]?.string, let contents = json["contents"]?.array?.compactMap(\.string),
            let tag = json["tag"]?.string, let sequence = json["sequence"]?.int, let plays = json["plays"]?.int,
            let reported = json["reported"]?.int
        else { throw RowSeal.damaged }
        self.sequence = sequence
        self.data = data
        contentIDs = contents
        self.tag = tag
        priority = Int(try row.integer(2))
        expiresAt = try row.instantIfPresent(3)
        addedAt = try row.instant(4)
        self.plays = plays
        self.reported = reported
        rights = try UsedRights(json["used"])
        firstPlay = json["first"]?.int.map { Instant(milliseconds: Int64($0)) }
    }

    /// The license, when a key of the service signed it, and its state.
    ///
    /// - Throws: `rights.signature`, `rights.malformed`.
    func record(_ keys: ServiceKeys) throws(RightsError) -> LicenseRecord {
        var record = LicenseRecord(try License(data, keys: keys))
        record.firstPlay = firstPlay
        record.plays = plays
        return record
    }

    /// Takes over the state after an action.
    mutating func take(_ record: LicenseRecord) {
        firstPlay = record.firstPlay
        plays = record.plays
        expiresAt = record.end
    }

    /// Takes over the state from before the license was removed. Of a lost state, all plays and rights count as used, and the time of
    /// play as begun with the issue.
    ///
    /// - Throws: `rights.signature`, `rights.malformed`.
    mutating func take(_ former: FormerLicense, _ keys: ServiceKeys) throws(RightsError) {
        (firstPlay, plays, reported, rights) = (former.firstPlay, former.plays, former.reported, former.rights)
        if former.isLost {
            let license = try record(keys).license
            plays = license.terms.playCount ?? 0
            if license.terms.playbackSeconds != nil { firstPlay = license.issuedAt }
        }
        if let record = try? record(keys) { expiresAt = record.end }
    }

    var former: FormerLicense {
        FormerLicense(
            sequence: sequence,
            firstPlay: firstPlay,
            plays: plays,
            reported: reported,
            rights: rights,
            isReleased: false
        )
    }

    var stored: StoredLicense {
        StoredLicense(
            id: id,
            contentIDs: contentIDs,
            data: data,
            expiresAt: expiresAt,
            priority: priority,
            addedAt: addedAt,
            tag: tag,
            firstPlayedAt: firstPlay,
            plays: plays,
            reportedPlays: reported
        )
    }
}
