// SPDX-License-Identifier: Apache-2.0

package import CarrelJSON
import CarrelStore
package import CarrelWebAPI

/// The personal data of all capabilities.
package struct PersonalRegister: Sendable {
    /// Every table of the schema.
    package let tables: [String: PersonalData.Treatment]
    /// The lists of the export, in their order.
    let members: [PersonalData.Member]

    /// The order of the export: first what later members are read for.
    private static let order = [
        "devices", "sessions", "identities", "appPasswords", "subscriptions", "purchases", "storePurchases", "storeTransactions",
        "upstream", "orders", "listening", "bookmarks", "players", "licenses", "audit",
    ]

    /// - Parameters:
    ///   - capabilities: the capabilities whose tables and lists are declared.
    ///   - tables: further tables.
    package init(_ capabilities: [any Capability], _ tables: [String: PersonalData.Treatment] = [:]) {
        var tables = tables
        for capability in capabilities { tables.merge(type(of: capability).tables) { first, _ in first } }
        self.tables = tables
        func place(_ member: PersonalData.Member) -> Int { Self.order.firstIndex(of: member.name) ?? Self.order.count }
        members = capabilities.flatMap(\.personalData).sorted { place($0) < place($1) }
    }

    /// Tables that keep rows after an erasure, with the reason.
    package var kept: JSON {
        .array(
            tables.sorted { $0.key < $1.key }.compactMap { _, treatment in
                guard case .kept(let member, let reason) = treatment else { return nil }
                return ["what": .string(member), "because": .string(reason)]
            }
        )
    }
}
