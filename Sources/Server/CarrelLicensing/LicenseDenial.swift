// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelJSON

/// A denied request of a player, from the audit log, with remedies.
package struct LicenseDenial {
    let entry: AuditEntry

    /// The maximum number of reported denials.
    static let limit = 20

    /// The explanations of codes, for staff.
    private static let explanations = [
        "personalization.revoked": "The player was revoked, for good: the app has to be personalised again, in a new folder.",
        "personalization.suspended": "The player or its account is suspended. Resume it, and it works again.",
        "personalization.device-limit": "The account has no slot for another device: free one, or raise the limit.",
        "personalization.linked": "The player is another account's: its reader has to remove that link first.",
        "personalization.account": "The account is suspended, or was deleted.",
        "registration.user": "The token of deregistration is for another user than the player's.",
        "license.request":
            "The request was not one, was sent to another address, or its signature is wrong: the app has to be updated.",
        "license.title": "The catalog does not have the token's title, or the order of this token is for another title.",
        "license.account": "The account of the token was deleted.",
        "license.suspended": "The account of the token or the license is suspended. Resume it, and it works again.",
        "license.restricted":
            "The license message has a restriction that the player does not meet, or that this server cannot enforce.",
        "license.address": "The license message is for clients at other addresses.",
        "license.not-stream": "The token is for a license to keep: the app has to redeem it at /v1/license.",
        "license.proof":
            "The proof of the player's key was wrong, or for another request, token or time: check the device's clock.",
        "license.proof-used": "The proof of the player's key was sent twice. The app makes another by itself.",
        "license.not-personalized":
            "The player's certificate had ended, or the player was deleted: the app personalises itself again.",
        "license.version": "The app speaks no version of the protocol that this server speaks: it has to be updated.",
        "license.nonce": "The request was late or was sent twice. The app asks again by itself.",
        "license.token":
            "The request had no token, one that this server did not make, or a message under a communication key that is not here.",
        "license.token-expired": "The token had ended before it was redeemed: the portal has to make a new one.",
        "license.token-used": "Another player redeemed the token, or it was redeemed as often as it may be.",
        "license.token-device": "The token is for another device.",
        "license.not-storable": "The token is for a stream, and the app wanted a license to keep.",
        "license.content": "The token is for other content than the app asked for.",
        "license.key": "The key store does not have the content's key: add it with 'carrel content-key add'.",
        "license.concurrency": "Every place for a stream was taken. Stopping another stream frees one.",
        "license.unknown": "The app renewed or released a license that is not this player's, or was deleted long ago.",
        "license.ended": "The license was given back, revoked or replaced by a newer stream, or its time is over.",
        "license.sequence": "The app's license is newer than the server's: the server was restored from an older backup.",
    ]

    /// The codes that have an explanation.
    package static var explained: Set<String> { Set(explanations.keys) }

    var json: JSON {
        [
            "at": .string(entry.at.description), "code": .string(entry.reason),
            "explanation": .string(Self.explanations[entry.reason] ?? "The audit log has no explanation for this code."),
        ]
    }
}
