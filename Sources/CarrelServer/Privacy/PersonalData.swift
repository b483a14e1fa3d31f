/// Where the database holds something about a person, and what becomes of it when the person asks to be forgotten.
///
/// Every table of the schema is named here; a test finds one that is not. Who adds a table says of it what it says about people,
/// and teaches ``PersonalExport`` and ``Erasure`` where that is something.
package enum PersonalData {
    /// What a table holds about the person that an account stands for.
    package enum Treatment: Sendable, Equatable {
        /// In the export under this name, and deleted when the person is erased.
        case deleted(exportedAs: String)
        /// In the export under this name, and kept when the person is erased, without saying who it was, for this reason.
        case kept(exportedAs: String, because: String)
        /// Nothing about a person, for this reason.
        case nothing(String)

        /// What the export calls it.
        package var member: String? {
            switch self {
            case .deleted(let member), .kept(let member, _): member
            case .nothing: nil
            }
        }
    }

    /// Why what was sold, lent and given is kept.
    private static let accounting = "the accounts of the shop or library have to add up"

    package static let tables: [String: Treatment] = [
        "accounts": .kept(
            exportedAs: "account",
            because: "orders and the audit log refer to it; the name becomes a random one, the password is removed"
        ),
        "devices": .deleted(exportedAs: "devices"),
        "identities": .deleted(exportedAs: "identities"),
        "sessions": .deleted(exportedAs: "sessions"),
        "app_passwords": .deleted(exportedAs: "appPasswords"),
        "subscriptions": .kept(exportedAs: "subscriptions", because: accounting),
        "purchases": .kept(exportedAs: "purchases", because: accounting),
        "store_purchases": .deleted(exportedAs: "storePurchases"),
        "store_transactions": .deleted(exportedAs: "storeTransactions"),
        "orders": .kept(exportedAs: "orders", because: accounting),
        "intervals": .deleted(exportedAs: "listening"),
        "bookmarks": .deleted(exportedAs: "bookmarks"),
        "audit": .kept(
            exportedAs: "audit",
            because: "each entry is sealed together with the one before it; an entry names ids, never a person"
        ),
        "audit_pages": .kept(
            exportedAs: "audit",
            because: "a page is sealed as one; its entries name ids, never a person"
        ),
        "audit_marks": .nothing("numbers and seals of places in the audit log"),
        "throttle": .nothing("keyed hashes of names, networks and devices, which nobody can turn back; gone after 90 days"),
        "used_sign_ons": .nothing("hashes of random numbers; gone within the hour"),
        "sign_in_networks": .nothing("keyed hashes of names, networks, devices, which nobody can turn back; gone after 90 days"),
        "setup_links": .nothing("links for the first administrator, before there is one; gone after an hour"),
        "service_keys": .nothing("keys of programs; an operator should not name one after a person"),
        "upstream_tokens": .deleted(exportedAs: "upstream"),
        "upstream_accounts": .deleted(exportedAs: "upstream"),
        "upstream_grants": .deleted(exportedAs: "upstream"),
        "revocations": .nothing("ids of accounts and products, and from when on their credentials are void"),
        "credential_serial": .nothing("a number"),
        "secrets": .nothing("the server's own secrets, wrapped"),
        "master_keys": .nothing("fingerprints of the server's own keys"),
        "nodes": .nothing("the servers on this database; gone some minutes after the last sign of life"),
        "installation": .nothing("a random id"),
        "titles": .nothing("works"),
        "editions": .nothing("works"),
        "edition_resources": .nothing("works"),
        "plans": .nothing("what is on offer"),
        "plan_products": .nothing("what is on offer"),
        "schema_version": .nothing("the version of the tables"),
    ]
}
