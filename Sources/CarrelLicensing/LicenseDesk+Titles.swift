import CarrelAccounts
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelOrders
import CarrelRights
import CarrelTokens

/// The content of a license: listed in the token, or a title of the catalog.
extension LicenseDesk {
    /// The content that a token is redeemed for.
    struct Content {
        let id: String
        /// The content that the grant is for: what records and the audit log say.
        let ownID: String
        let keys: [(id: KeyID, key: Secret)]
        var obligations: [Obligation] = []
        /// Whose slots its streams take.
        let subject: String
        /// The order of a title, and its end.
        var order: String?
        var end: Instant?
    }

    /// The content id of a title.
    static func contentID(ofTitle title: String) -> String { "urn:carrel:title:\(title)" }

    /// The id of an order's key: not the order's own, which opens the order where orders are capabilities.
    static func keyID(ofOrder order: String) -> KeyID { KeyID(label: "carrel content key\n\(order)") }

    /// The content of a token with its keys. A title's order is placed.
    func content(of grant: Grant) throws -> Content {
        if let title = grant.rules.title, grant.rules.contents.isEmpty { return try content(ofTitle: title, grant) }
        let (contents, obligations) = try grant.contents(for: request.capabilities)
        return Content(
            id: request.contentID.isEmpty ? contents[0].contentID : request.contentID,
            ownID: contents.contains { $0.contentID == request.contentID } ? request.contentID : contents[0].contentID,
            keys: try contents.map { ($0.keyID, try key(of: $0, in: .issuer(grant.rules.issuer))) },
            obligations: obligations,
            subject: player.account ?? grant.rules.account ?? "player:\(player.id)"
        )
    }

    private func content(ofTitle title: String, _ grant: Grant) throws -> Content {
        let id = Self.contentID(ofTitle: title)
        guard try Licenses.titleKind(title, in: transaction) == .audiobook else {
            // an edition has no order: its key is in the key store
            let content = BusinessRules.Content(contentID: id, keyID: KeyID(label: id))
            return Content(
                id: id,
                ownID: id,
                keys: [(content.keyID, try key(of: content, in: .unowned))],
                subject: player.account ?? grant.rules.account ?? "player:\(player.id)"
            )
        }
        let account = try account(of: grant)
        var end: Instant?
        if case .rental(let periodEnd, _)? = grant.rules.rights { end = periodEnd }
        // A token without an account is redeemed by players of several accounts: the first has the order of its id.
        var placed: Orders.Grant?
        for number in [grant.rules.idText, "\(grant.rules.idText):\(account.id)"] where placed == nil {
            placed = try licenses.orders.placed(
                title: title,
                for: account,
                number: number,
                until: end,
                by: actor,
                at: now,
                in: transaction
            )
        }
        guard let placed else { throw HTTPError(.conflict, "license.title", "the order of this token is for another title") }
        try Self.require(placed, at: now)
        return Content(
            id: id,
            ownID: id,
            keys: [(Self.keyID(ofOrder: placed.order.id), placed.key)],
            subject: placed.order.accountID,
            order: placed.order.id,
            end: placed.order.endsAt
        )
    }

    /// The account that gets a title: the token's, the player's, or one of the player's own, which has no password.
    private func account(of grant: Grant) throws -> Account {
        guard let id = grant.rules.account ?? player.account else {
            let own = Account(id: Random.uuid(), name: "player-\(player.id)")
            return try AccountStore.findOrInsert(own, at: now, in: transaction)
        }
        guard let account = try AccountStore.account(id: id, in: transaction) else {
            throw HTTPError(.forbidden, "license.account", "the account of the token is no more")
        }
        return account
    }

    /// Refuses a license whose order is not live.
    func requireOrder(of license: LicenseStore.Issued) throws {
        guard let order = try LicenseStore.order(of: license.id, in: transaction) else { return }
        guard let grant = try licenses.orders.grant(order, in: transaction) else { throw Self.ended }
        try Self.require(grant, at: now)
    }

    private static func require(_ grant: Orders.Grant, at now: Instant) throws {
        guard grant.order.availability(at: now) == .live else { throw ended }
        guard !grant.isSuspended else {
            throw HTTPError(.forbidden, "license.suspended", "the account of the title is suspended")
        }
    }
}
