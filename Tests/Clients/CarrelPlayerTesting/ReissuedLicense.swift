// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
import CarrelBytes
import CarrelJOSE
package import CarrelJSON
package import CarrelRights
import CarrelServer
import Testing

extension PlayerWorld {
    /// A license with changed terms and the next number, signed by the service as a renewal is.
    package func reissued(_ data: String, _ change: (inout JSONObject) -> Void) async throws -> String {
        let payload = try #require(data.split(separator: ".").dropFirst().first.flatMap { Base64URL.decode($0) })
        var object = try #require(try JSON.parse(payload.rawSpan, limits: JSONLimits(depth: 12)).object)
        object["sequence"] = .integer((object["sequence"]?.int ?? 0) + 1)
        change(&object)
        return TypedJWS.sign(
            JSON.object(object).write(),
            as: RightsMessage.license,
            with: try await service.authority.keys().license
        )
    }
}

extension JSONObject {
    /// Changes a member of `terms`.
    package mutating func setTerm(_ name: String, _ value: JSON) {
        var terms = self["terms"]?.object ?? [:]
        terms[name] = value
        self["terms"] = .object(terms)
    }

    /// Adds a critical obligation.
    package mutating func add(_ obligation: Obligation.Kind, _ parameters: JSONObject) {
        let all = self["obligations"]?.array ?? []
        self["obligations"] = .array(
            all + [["type": .string(obligation.rawValue), "parameters": .object(parameters), "critical": true]]
        )
    }
}
