// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelSubscription
import CarrelThreads
public import CarrelUpstream

/// An app's subscription with one provider: signs in, requests the account's entitlements, gets credentials for editions.
///
/// It keeps the token and the provider's last response, never a password. If the provider does not respond, or responds with a
/// status other than 2xx, the last state stays in force.
public actor SubscriptionClient {
    /// The app's name for the provider.
    public nonisolated let name: String
    private let calls: SubscriptionCalls
    private let store: any SubscriptionStore
    private let device: String?
    private let clock: any WallClock
    private var stored: StoredSubscription
    private var refreshing: Task<Result<Refresh, ReaderError>, Never>?
    /// The thread on which stores write, one after another: a disk may take its time.
    private static let writer = BlockingThreadPool(name: "reader-store", count: 1)

    /// The result of a refresh.
    public enum Refresh: Sendable, Equatable {
        /// The provider responded; the new state is stored.
        case updated(SubscriptionState)
        /// The provider gave no valid response; the last state, if any, stays in force.
        case kept(SubscriptionState?, because: UpstreamError)
    }

    /// Creates a client from the stored subscription.
    ///
    /// - Parameters:
    ///   - name: the app's name for the provider.
    ///   - calls: the calls to the provider.
    ///   - store: keeps the token and the last response; one per provider.
    ///   - device: names this installation of the app, for providers that limit devices.
    ///   - clock: tells when a response arrived.
    /// - Throws: `reader.store` if the stored data cannot be read.
    public init(
        name: String,
        calls: SubscriptionCalls,
        store: any SubscriptionStore,
        device: String? = nil,
        clock: any WallClock = SystemClock()
    ) throws(ReaderError) {
        self.name = name
        self.calls = calls
        self.store = store
        self.device = device
        self.clock = clock
        do {
            stored = try store.load().map { try StoredSubscription(reading: $0) } ?? StoredSubscription()
        } catch let error as ReaderError {
            throw error
        } catch {
            throw ReaderError(.store, "the stored subscription cannot be read")
        }
    }

    /// Whether a token is stored; the provider may have revoked it.
    public var isSignedIn: Bool { stored.token != nil }

    /// The provider's last response; nil before the first.
    public var state: SubscriptionState? { stored.state }

    /// The `Authorization` field for the provider's feeds, if the provider issued a credential for them.
    public var feedAuthorization: String? {
        guard let token = stored.token, let password = stored.globalAuthPassword else { return nil }
        return EditionAccess.basic(token, password)
    }

    /// The `Authorization` field with which a Carrel server delivers editions to a signed-in user: the token as a bearer token
    /// (RFC 6750). Send it to that server only.
    public var bearerAuthorization: String? { stored.token.map { "Bearer \($0)" } }

    /// Whether the account may read a product, by the provider's last response.
    ///
    /// - Parameter product: the id of the product.
    /// - Returns: true if the provider's last answer includes the product.
    public func claims(_ product: String) -> Bool {
        stored.token != nil && stored.state?.allows(product) == true
    }

    /// Signs in and requests the account's entitlements. A previous session ends, and the provider is notified.
    ///
    /// - Parameters:
    ///   - name: the name as typed.
    ///   - password: the password as typed.
    /// - Returns: the entitlements, as from ``refresh()``.
    /// - Throws: `reader.refused`, which changes nothing; `reader.unavailable`.
    public func signIn(name: String, password: String) async throws(ReaderError) -> Refresh {
        let answer: SignInAnswer
        do throws(UpstreamError) {
            answer = try await calls.signIn(name: name, password: password, device: device)
        } catch {
            throw .unavailable(error)
        }
        switch answer {
        case .refused(let status, let message): throw .refused(status, message)
        case .token(let token, let password):
            var fresh = StoredSubscription()
            fresh.token = token
            fresh.globalAuthPassword = password
            let former = stored.token
            refreshing = nil  // it uses the previous token
            try await keep(fresh)
            if let former, former != token { try? await calls.signOut(former) }
            return try await refresh()
        }
    }

    /// Asks what the account has: when the app starts, and when it has reason to.
    ///
    /// Renews a `stale` token once; if the new one is stale too, the provider's response stands. Concurrent calls share a
    /// renewal.
    ///
    /// - Throws: `reader.signedOut`; `reader.store` if the response cannot be kept.
    public func refresh() async throws(ReaderError) -> Refresh {
        guard stored.token != nil else { throw .signedOut }
        if let refreshing { return try await refreshing.value.get() }
        let task = Task { () -> Result<Refresh, ReaderError> in
            do throws(ReaderError) { return .success(try await ask()) } catch { return .failure(error) }
        }
        refreshing = task
        let result = await task.value
        if refreshing == task { refreshing = nil }
        return try result.get()
    }

    private func ask() async throws(ReaderError) -> Refresh {
        guard let token = stored.token else { throw .signedOut }
        var verified = await verify(token)
        guard case .success(let answer) = verified else { return kept(verified) }
        var asked = token
        if answer.state == .stale, calls.canRenew {
            switch await renewed(token) {
            case .failure(let error): return .kept(stored.state, because: error)
            case .success(.refused): break
            case .success(.token(let fresh, let password)):
                guard stored.token == token else { throw .signedOut }
                var renewed = stored
                renewed.token = fresh
                if let password { renewed.globalAuthPassword = password }
                // Stored before use: the old token may no longer be valid.
                try await keep(renewed)
                asked = fresh
                verified = await verify(fresh)
            }
        }
        guard case .success(let answer) = verified else { return kept(verified) }
        // The user may have signed in or out during the call.
        guard stored.token == asked else { throw .signedOut }
        let state = SubscriptionState(answer, verifiedAt: clock.now)
        var updated = stored
        updated.state = state
        try await keep(updated)
        return .updated(state)
    }

    private func kept(_ verified: Result<SubscriptionAnswer, UpstreamError>) -> Refresh {
        guard case .failure(let error) = verified else { preconditionFailure("an answer is not kept back") }
        return .kept(stored.state, because: error)
    }

    private func verify(_ token: String) async -> Result<SubscriptionAnswer, UpstreamError> {
        do throws(UpstreamError) { return .success(try await calls.verify(token)) } catch { return .failure(error) }
    }

    private func renewed(_ token: String) async -> Result<SignInAnswer, UpstreamError> {
        do throws(UpstreamError) { return .success(try await calls.renew(token)) } catch { return .failure(error) }
    }

    /// Obtains the credentials for the download of an edition.
    ///
    /// - Parameter product: the edition's id in the feed.
    /// - Returns: the fields that the download has to send.
    /// - Throws: `reader.refused` with the provider's words; `reader.unavailable`, at which the download is not allowed.
    public func credentials(for product: String) async throws(ReaderError) -> EditionAccess {
        guard let token = stored.token else { throw .signedOut }
        do throws(ReaderError) {
            return try await credentials(for: product, token)
        } catch {
            // The token may have been renewed or be due for renewal; a new one justifies another request.
            guard error.code == .refused, error.status == "notrecognised", calls.canRenew else { throw error }
            _ = try await refresh()
            guard let fresh = stored.token, fresh != token else { throw error }
            return try await credentials(for: product, fresh)
        }
    }

    private func credentials(for product: String, _ token: String) async throws(ReaderError) -> EditionAccess {
        let answer: CredentialsAnswer
        do throws(UpstreamError) {
            answer = try await calls.credentials(for: product, token: token)
        } catch {
            throw .unavailable(error)
        }
        switch answer {
        case .refused(let status, let message): throw .refused(status, message)
        case .granted(let userID, let password, let headers):
            let extra = headers.map { (name: $0.name, value: $0.value) }
            return EditionAccess(product: product, userID: userID, password: password, extra: extra)
        }
    }

    /// Deletes the subscription and notifies the provider, which then no longer counts the device.
    ///
    /// - Throws: `reader.store` if the stored data cannot be removed, although the provider was notified; `reader.unavailable` if
    ///   the provider could not be notified; the subscription is deleted all the same.
    public func signOut() async throws(ReaderError) {
        guard let token = stored.token else { return }
        refreshing = nil
        var failure: ReaderError?
        do throws(ReaderError) { try await keep(StoredSubscription()) } catch { failure = error }
        do throws(UpstreamError) {
            try await calls.signOut(token)
        } catch {
            throw failure ?? .unavailable(error)
        }
        if let failure { throw failure }
    }

    private func keep(_ fresh: StoredSubscription) async throws(ReaderError) {
        stored = fresh
        let (store, bytes) = (store, fresh.token == nil ? nil : fresh.written)
        // Queued here and now, so that the last to be kept is the last to be written.
        let failure: ReaderError? = await withCheckedContinuation { continuation in
            let refusal = ReaderError(.store, "the subscription cannot be kept")
            do throws(QueueFull) {
                try Self.writer.start {
                    do {
                        try store.save(bytes)
                        continuation.resume(returning: nil)
                    } catch {
                        continuation.resume(returning: error as? ReaderError ?? refusal)
                    }
                }
            } catch {
                continuation.resume(returning: refusal)
            }
        }
        if let failure { throw failure }
    }
}
