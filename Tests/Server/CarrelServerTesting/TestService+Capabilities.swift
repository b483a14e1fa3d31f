// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelCatalog
import CarrelClearKey
import CarrelKeyStore
import CarrelEditionDelivery
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelFeeds
import CarrelKeyExchange
import CarrelLicensing
import CarrelListening
import CarrelOrders
import CarrelRelay
import CarrelServer
import CarrelSignOn
import CarrelStreaming
import CarrelWebAPI
import CarrelWebsite

extension TestService {
    /// The capabilities that a test starts: each value is a capability with all lower ones that it needs.
    package struct Capabilities: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        private static func over(_ ground: Capabilities, _ layer: any Capability.Type) -> Capabilities {
            guard let index = CarrelService.layers.firstIndex(where: { $0 == layer }) else {
                preconditionFailure("\(layer) is not a layer of the service")
            }
            return ground.union(Capabilities(rawValue: 1 << index))
        }

        package static let audit = over([], AuditCapability.self)
        package static let accounts = over(.audit, AccountsCapability.self)
        package static let catalog = over(.accounts, CatalogCapability.self)
        package static let orders = over(.catalog, OrdersCapability.self)
        package static let entitlements = over(.catalog, EntitlementsCapability.self)
        package static let authority = over(.accounts, AuthorityCapability.self)
        package static let contentKeys = over([.catalog, .authority], KeyStoreCapability.self)
        package static let keyExchange = over(.contentKeys, KeyExchangeCapability.self)
        package static let licensing = over([.orders, .contentKeys], LicensingCapability.self)
        package static let clearKey = over(.licensing, ClearKeyCapability.self)
        package static let relay = over(.accounts, RelayCapability.self)
        package static let entitlementSources = over(.entitlements, EntitlementSourcesCapability.self)
        package static let signOn = over(.entitlements, SignOnCapability.self)
        package static let streaming = over(.orders, StreamingCapability.self)
        package static let listening = over(.streaming, ListeningCapability.self)
        package static let editionDelivery = over([.entitlementSources, .contentKeys], EditionDeliveryCapability.self)
        package static let feeds = over(.editionDelivery, FeedsCapability.self)
        package static let administration = over([.orders, .entitlements], AdministrationCapability.self)
        package static let website = over([.listening, .editionDelivery, .authority, .administration], WebsiteCapability.self)

        /// The whole service.
        package static let all: Capabilities = [.website, .keyExchange, .clearKey, .relay, .signOn, .feeds]

        /// Whether a capability is left out.
        func leavesOut(_ capability: any Capability) -> Bool {
            !contains(Self.over([], type(of: capability)))
        }
    }
}
