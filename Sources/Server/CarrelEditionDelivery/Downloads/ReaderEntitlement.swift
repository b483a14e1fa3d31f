// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelEntitlements
package import CarrelHTTP
import CarrelStore
import CarrelSubscription
import CarrelWebAPI

/// Identification of a request's reader and of the products they may read, by an account rather than by the credentials
/// of one edition.
package struct ReaderEntitlement: Sendable {
    /// A reader.
    package enum Reader: Sendable {
        case account(Account)
        /// The owner of a token issued by a source.
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

    /// Checks the session of a browser or an app.
    func mayRead(_ productID: String, session request: HTTPRequest) async throws -> Bool {
        guard let account = try await callers.readerIfAny(request) else { return false }
        return try await mayRead(productID, .account(account))
    }

    /// Checks a user name and a password: one of the account's app passwords or its own, or a session's token as the password. The
    /// second credential of a token is valid for feeds only.
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

    /// The reader of a feed request: by Basic credentials as for a product, by a token with the second credential issued with it,
    /// or by a session; nil without credentials.
    package func reader(ofFeed request: HTTPRequest) async throws -> Reader? {
        guard let (user, password) = request.basicCredentials else {
            return try await callers.readerIfAny(request).map { .account($0) }
        }
        if feedPasswords.isRight(password, of: user) { return .token(user) }
        return try await reader(basic: request)
    }

    /// The published products that a reader may read, newest issue first; nil if no source knows the reader any longer.
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

    /// Whether a reader may see a catalog that is not public: known, not suspended, and not a canned user.
    package func mayBrowse(_ reader: Reader) async throws -> Bool {
        switch reader {
        case .account(let account): return !account.isSuspended
        case .token(let token):
            guard let status = try await status(of: token) else { return false }
            return status.state != .suspended && status.onlyProducts == nil
        }
    }

    /// The status of a token; nil if unknown or ended.
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
