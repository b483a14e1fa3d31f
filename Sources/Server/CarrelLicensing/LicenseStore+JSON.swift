// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights

extension LicenseStore.Redemption {
    var json: JSON {
        [
            "token": .string(token), "player": .string(player),
            "license": license.isEmpty ? .null : .string(license),
            "time": .string(at.description), "contentId": .string(contentID),
            "cookie": cookie.map { .string($0) } ?? .null,
        ]
    }
}

extension LicenseStore.Issued {
    var json: JSON {
        [
            "id": .string(id), "player": .string(player), "contentId": .string(contentID),
            "session": .string(session.rawValue), "sequence": .integer(sequence), "terms": terms.json,
            "kids": .array(keyIDs.map { .string($0.hex) }), "issuedAt": .string(issuedAt.description),
            "leaseUntil": leaseUntil.map { .string($0.description) } ?? .null,
            "endedAt": endedAt.map { .string($0.description) } ?? .null,
            "endedBy": endedBy.map { .string($0) } ?? .null,
        ]
    }
}
