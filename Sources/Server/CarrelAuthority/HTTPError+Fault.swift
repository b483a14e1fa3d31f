// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

extension HTTPError {
    /// The kind of refusal that a player tells its user of (docs/devices.md).
    enum Fault: String {
        case rejected, host, revoked, fingerprint
        case deviceLimit = "device-limit"
    }

    /// A refusal of a player, with its `fault`.
    ///
    /// - Parameters:
    ///   - status: the response's status.
    ///   - code: the stable identifier.
    ///   - detail: a lower-case sentence without a period.
    ///   - fault: the kind.
    ///   - number: the player's number for it; nil if the kind says enough.
    ///   - headers: further fields of the response.
    init(
        _ status: HTTPStatus,
        _ code: String,
        _ detail: String,
        fault: Fault,
        number: Int64? = nil,
        headers: HTTPFields = [:]
    ) {
        let numbers = number.map { [("number", Value.number($0))] } ?? []
        self.init(status, code, detail, extra: [("fault", .text(fault.rawValue))] + numbers, headers: headers)
    }
}
