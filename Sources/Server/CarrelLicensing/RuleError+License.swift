// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelWebAPI

// Refusals of more than one rule.
extension RuleError {
    static let licenseTokenUsed = RuleError(.conflict, "license.token-used", "the token was redeemed as often as it may be")
    static let licenseEnded = RuleError(.forbidden, "license.ended", "the license was given back, revoked, or has ended")
    static let licenseAccount = RuleError(.forbidden, "license.account", "the account of the token is no more")
    static let licenseSuspended = RuleError(.forbidden, "license.suspended", "the account of the license is suspended")
    static let licenseNonce = RuleError(
        .invalid,
        "license.nonce",
        "the nonce is not one of this service, was used, or is too old: ask for another"
    )

    static func licenseNotPersonalized(_ kind: Kind = .forbidden) -> RuleError {
        RuleError(
            kind,
            "license.not-personalized",
            "the certificate is not one of this service, or has expired: personalise the device",
            facts: [("number", .number(-4001))]
        )
    }
}
