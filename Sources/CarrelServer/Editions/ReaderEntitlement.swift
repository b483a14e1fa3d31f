import CarrelBytes
import CarrelHTTP
import CarrelStore
import CarrelSubscription

/// Who the reader is that sends a request, and what of the catalog they may read: somebody with an account here, not with the
/// credentials of one edition.
struct ReaderEntitlement: Sendable {
    let database: any Database
    let clock: any WallClock
    let products: ProductCatalog
    let accounts: Accounts
    let feedPasswords: FeedPasswords
    let signIn: ReaderSignIn
    let callers: Callers

    // MARK: One product

    /// By the session of a browser or an app.
    func mayRead(_ productID: String, session request: HTTPRequest) async throws -> Bool {
        guard let account = try await callers.readerIfAny(request) else { return false }
        return try await mayRead(productID, account)
    }

    /// By a user name and a password: one of the account's app passwords or its own, or a session's token as the password. The
    /// second credential of a token opens feeds, and nothing else.
    func mayRead(_ productID: String, basic request: HTTPRequest) async throws -> Bool {
        guard let account = try await account(basic: request) else { return false }
        return try await mayRead(productID, account)
    }

    private func mayRead(_ productID: String, _ account: Account) async throws -> Bool {
        let products = try await products.current()
        let entitlement = try await entitlement(of: account)
        guard case .granted = entitlement.verdict(on: products[productID], of: products, at: clock.now) else { return false }
        return true
    }

    // MARK: Feeds

    /// Who asks for a feed: by a user name and a password as for a product, by a token with the second credential that came with
    /// it, or by a session; nil for nobody.
    func reader(ofFeed request: HTTPRequest) async throws -> Account? {
        guard let (user, password) = request.basicCredentials else { return try await callers.readerIfAny(request) }
        if feedPasswords.isRight(password, of: user) { return try await accounts.account(ofSession: user) }
        return try await account(basic: request)
    }

    /// The published products that an account may read, the newest issue first.
    func products(for account: Account) async throws -> [Product] {
        let products = try await products.current()
        let (entitlement, now) = (try await entitlement(of: account), clock.now)
        return products.published.reversed().filter { product in
            if case .granted = entitlement.verdict(on: product, of: products, at: now) { true } else { false }
        }
    }

    private func account(basic request: HTTPRequest) async throws -> Account? {
        guard let (_, password) = request.basicCredentials else { return nil }
        if Sessions.token(password) != nil { return try await accounts.account(ofSession: password) }
        if let account = try await callers.account(ofBasic: request, scope: .opds) { return account }
        return try await signIn.account(request)
    }

    private func entitlement(of account: Account) async throws -> Entitlement {
        try await database.readBriefly { try SubscriptionStore.entitlement(of: account, in: $0) }
    }
}
