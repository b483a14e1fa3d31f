// SPDX-License-Identifier: Apache-2.0

/// The role of an account or key, which decides its ``Permission``s.
package enum Role: String, Sendable, CaseIterable {
    /// Everything, and who else may do what.
    case owner
    /// Everything but that.
    case admin
    /// Readers' accounts and orders.
    case support
    /// No staff permissions: the role of readers.
    case reader
    /// Accounts, plans and orders: the role of back-office keys of shops and libraries.
    case service
    /// Its own tokens and content keys: the role of back-office keys of portals.
    case portal
    /// Keys of the contents that it packages: the role of back-office keys of packagers and encoders.
    case packager

    /// The role's permissions.
    package var permissions: Set<Permission> {
        switch self {
        // keys come out for packagers alone
        case .owner: Set(Permission.allCases).subtracting([.exchangeKeys])
        case .admin: Set(Permission.allCases).subtracting([.manageStaff, .exchangeKeys])
        case .support:
            [
                .readAccounts, .changeAccounts, .readPlans, .changeHoldings, .readOrders, .changeOrders, .readCatalog,
                .readHealth, .runCannedUsers, .manageLicenses,
            ]
        case .service:
            [
                .readAccounts, .changeAccounts, .readPlans, .changePlans, .changeHoldings, .readOrders, .changeOrders,
                .readCatalog, .readHealth, .issueTokens, .manageLicenses,
            ]
        case .portal: [.issueTokens]
        case .packager: [.exchangeKeys]
        case .reader: []
        }
    }

    package func may(_ permission: Permission) -> Bool { permissions.contains(permission) }

    /// Whether people with this role sign in at the administrator's page.
    package var isStaff: Bool { self == .owner || self == .admin || self == .support }

    /// Whether a back-office key can have this role; keys never manage staff.
    package var isForKeys: Bool { self == .service || self == .admin || self == .portal || self == .packager }
}

/// A permission of the service. ``Role/permissions`` lists the permissions of each role.
package enum Permission: String, Sendable, CaseIterable {
    /// See accounts, their devices and sessions, their entitlements, and explanations of access.
    case readAccounts = "accounts.read"
    /// Create, suspend and resume readers' accounts, let them in, end their devices and sessions.
    case changeAccounts = "accounts.change"
    case readPlans = "plans.read"
    case changePlans = "plans.change"
    /// Export and erase a person's data.
    case personalData = "personal-data"
    /// Give accounts plans and products, and end them.
    case changeHoldings = "holdings.change"
    case readOrders = "orders.read"
    case changeOrders = "orders.change"
    /// Make tokens, which devices redeem for licenses.
    case issueTokens = "tokens.issue"
    /// See and revoke licenses.
    case manageLicenses = "licenses.manage"
    /// Get content keys, and create them.
    case exchangeKeys = "content-keys.exchange"
    case readCatalog = "catalog.read"
    case changeCatalog = "catalog.change"
    case readAudit = "audit.read"
    case readHealth = "health.read"
    case runCannedUsers = "canned-users.run"
    case rotateKeys = "keys.rotate"
    /// Make and revoke back-office keys; add and remove the keys of license messages.
    case manageKeys = "service-keys.manage"
    /// Say who is staff, change the accounts of staff, make setup links.
    case manageStaff = "staff.manage"
}
