// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelWebAPI

extension RuleError {
    /// The kind of refusal that a player tells its user of (docs/devices.md).
    enum Fault: String {
        case rejected, host, revoked, fingerprint
        case deviceLimit = "device-limit"
    }

    /// A refusal of a player, with its `fault`.
    ///
    /// - Parameters:
    ///   - kind: the cause.
    ///   - code: the stable identifier.
    ///   - detail: a lower-case sentence without a period.
    ///   - fault: what the player tells its user.
    ///   - number: the player's number for it; nil if the fault says enough.
    ///   - retryAfter: seconds after which a retry may succeed; nil if unknown.
    init(
        _ kind: Kind,
        _ code: String,
        _ detail: String,
        fault: Fault,
        number: Int64? = nil,
        retryAfter: Int64? = nil
    ) {
        let numbers = number.map { [("number", HTTPError.Value.number($0))] } ?? []
        self.init(kind, code, detail, facts: [("fault", .text(fault.rawValue))] + numbers, retryAfter: retryAfter)
    }
}
