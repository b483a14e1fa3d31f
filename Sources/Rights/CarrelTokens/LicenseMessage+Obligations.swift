// SPDX-License-Identifier: Apache-2.0

package import CarrelRights

extension LicenseMessage.Entitlement {
    /// The obligations of each key that a player may have.
    ///
    /// - Parameter capabilities: of the player's outputs, by name.
    /// - Returns: obligations by key; a key whose policy the player cannot meet is left out.
    package func obligations(for capabilities: [String]) -> [KeyID: Set<Obligation.Kind>] {
        let policies = Dictionary(policies.map { ($0.name, $0) }) { first, _ in first }
        switch keys {
        case .inline(let keys), .stored(let keys):
            return keys.reduce(into: [:]) { found, key in
                guard let policy = key.policy.flatMap({ policies[$0] }) else { return found[key.id] = [] }
                guard policy.unknown.isEmpty else { return }
                // no player of this service is one of the outputs that play enablers name
                guard policy.systems.values.allSatisfy({ $0.playEnablers.isEmpty }) else { return }
                var kinds: Set<Obligation.Kind> = []
                for rules in policy.systems.values {
                    guard let more = rules.obligations else { return }
                    kinds.formUnion(more)
                }
                guard kinds.allSatisfy({ capabilities.contains($0.rawValue) }) else { return }
                found[key.id] = kinds
            }
        case .licenseRequest: return [:]
        }
    }
}

extension LicenseMessage.SystemPolicy {
    /// The obligations of the rules; nil where no player of this service meets them.
    fileprivate var obligations: Set<Obligation.Kind>? {
        // levels of hardware and of robustness rules, which nothing here is certified for
        guard deviceSecurityLevel.map({ $0 == "SW_SECURE_CRYPTO" }) ?? true, (minDeviceSecurityLevel ?? 0) <= 150 else {
            return nil
        }
        var kinds: Set<Obligation.Kind> = []
        if let hdcp, hdcp != "HDCP_NONE" { kinds.insert(.outputProtection) }
        // a player of this service has no AirPlay to forbid
        if allowsAVAdapter == false { kinds.insert(.outputProtection) }
        if let copyControl, !["CGMS_NONE", "COPY_FREE"].contains(copyControl) { kinds.insert(.noAnalogueOutput) }
        for (name, level) in outputLevels where level > 100 {
            kinds.insert(name.hasPrefix("analog") ? .noAnalogueOutput : .outputProtection)
        }
        return kinds
    }
}
