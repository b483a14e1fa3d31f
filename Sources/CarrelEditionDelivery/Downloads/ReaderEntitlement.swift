package import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelEntitlements
package import CarrelHTTP
import CarrelStore
import CarrelSubscription
import CarrelWebAPI

/// Who the reader is that sends a request, and what of the catalog they may read: somebody with an account, not with the
/// credentials of one edition.
package struct ReaderEntitlement: Sendable {
    /// Somebody who reads.
    package enum Reader: Sendable {
        case account(Account)
        /// Whoever a source gave this token.
        case token(String)
    }

    let database: any Database
    let clock: any WallClock
    let products: ProductCatalogCache
    let sources: EntitlementSources
    let feedPasswords: FeedPasswords
    let signIn: BasicAuthenticator
    let callers: RequestAuthenticator

    // MARK: One product

    /// By the session of a browser or an app.
    func mayRead(_ productID: String, session request: HTTPRequest) async throws -> Bool {
        guard let account = try await callers.readerIfAny(request) else { return false }
        return try await mayRead(productID, .account(account))
    }

    /// By a user name and a password: one of the account's app passwords or its own, or a session's token as the password. The
    /// second credential of a token opens feeds, and nothing else.
    func mayRead(_ productID: String, basic request: HTTPRequest) async throws -> Bool {
        guard let reader = try await reader(basic: request) else { return false }
        return try await mayRead(productID, reader)
    }

    private func mayRead(_ productID: String, _ reader: Reader) async throws -> Bool {
        switch reader {
        case .account(let account):
            let products = try await products.current()
            let entitlement = try await entitlement(of: account)
            guard case .granted = entitlement.verdict(on: products[productID], of: products, at: clock.now) else { return false }
            return true
        case .token(let token):
            guard case .granted = try await sources.decision(on: productID, token: token) else { return false }
            return true
        }
    }

    // MARK: Feeds

    /// Who asks for a feed: by a user name and a password as for a product, by a token with the second credential that came with
    /// it, or by a session; nil for nobody.
    package func reader(ofFeed request: HTTPRequest) async throws -> Reader? {
        guard let (user, password) = request.basicCredentials else {
            return try await callers.readerIfAny(request).map { .account($0) }
        }
        if feedPasswords.isRight(password, of: user) { return .token(user) }
        return try await reader(basic: request)
    }

    /// The published products that somebody may read, the newest issue first; nil when nobody knows them any more.
    func products(for reader: Reader) async throws -> [Product]? {
        let products = try await products.current()
        let newest = products.published.reversed()
        switch reader {
        case .account(let account):
            let (entitlement, now) = (try await entitlement(of: account), clock.now)
            return newest.filter { product in
                if case .granted = entitlement.verdict(on: product, of: products, at: now) { true } else { false }
            }
        case .token(let token):
            guard let status = try await status(of: token) else { return nil }
            if status.state == .suspended { return [] }
            let open = newest.filter { status.onlyProducts?.contains($0.id) ?? true }
            guard let issues = status.issues else { return status.state == .active ? open : open.filter(\.isFree) }
            let listed = Set(issues)
            return open.filter { $0.isFree || listed.contains($0.id) }
        }
    }

    /// Whether a reader may see a catalog that is not public: one that is known still, is not suspended, and is no test user.
    package func mayBrowse(_ reader: Reader) async throws -> Bool {
        switch reader {
        case .account(let account): return !account.isSuspended
        case .token(let token):
            guard let status = try await status(of: token) else { return false }
            return status.state != .suspended && status.onlyProducts == nil
        }
    }

    /// What is said of a token; nil when nobody knows it, or it has ended.
    private func status(of token: String) async throws -> SubscriptionStatus? {
        guard let status = try await sources.status(of: token), status.state != .unknown, status.state != .stale else {
            return nil
        }
        return status
    }

    private func reader(basic request: HTTPRequest) async throws -> Reader? {
        guard let (_, password) = request.basicCredentials else { return nil }
        if Sessions.token(password) != nil { return .token(password) }
        if let account = try await callers.account(ofBasic: request, scope: .opds) { return .account(account) }
        return try await signIn.account(request).map { .account($0) }
    }

    private func entitlement(of account: Account) async throws -> Entitlement {
        try await database.readBriefly { try SubscriptionStore.entitlement(of: account, in: $0) }
    }
}
