import CarrelBytes
import CarrelHTTP
import CarrelStore
import CarrelSubscription

/// Whether the reader who sends a request may read a product: somebody with an account, not with the credentials of one edition.
struct ReaderEntitlement: Sendable {
    let database: any Database
    let clock: any WallClock
    let products: ProductCatalog
    let sources: EntitlementSources
    let feedPasswords: FeedPasswords
    let signIn: ReaderSignIn
    let callers: Callers

    /// By the session of a browser or an app.
    func mayRead(_ productID: String, session request: HTTPRequest) async throws -> Bool {
        guard let account = try await callers.readerIfAny(request) else { return false }
        return try await mayRead(productID, account)
    }

    /// By a user name and a password: one of the account's app passwords or its own, or a session's token as the password, or a
    /// token with the second credential that came with it.
    func mayRead(_ productID: String, basic request: HTTPRequest) async throws -> Bool {
        guard let (user, password) = request.basicCredentials else { return false }
        if feedPasswords.isRight(password, of: user) { return try await mayRead(productID, token: user) }
        if Sessions.token(password) != nil { return try await mayRead(productID, token: password) }
        if let account = try await callers.account(ofBasic: request, scope: .opds) {
            return try await mayRead(productID, account)
        }
        guard let account = try await signIn.account(request) else { return false }
        return try await mayRead(productID, account)
    }

    private func mayRead(_ productID: String, token: String) async throws -> Bool {
        guard case .granted = try await sources.decision(on: productID, token: token) else { return false }
        return true
    }

    private func mayRead(_ productID: String, _ account: Account) async throws -> Bool {
        let products = try await products.current()
        let entitlement = try await database.readBriefly { try SubscriptionStore.entitlement(of: account, in: $0) }
        guard case .granted = entitlement.verdict(on: products[productID], of: products, at: clock.now) else { return false }
        return true
    }
}
