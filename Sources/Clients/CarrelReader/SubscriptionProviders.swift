// SPDX-License-Identifier: Apache-2.0

/// The providers that an app gets editions from, in the order in which they were added.
///
/// A product is requested from the first provider whose last response lists it, or from the last provider if none does.
public struct SubscriptionProviders: Sendable {
    /// The providers in order of precedence.
    public let clients: [SubscriptionClient]

    /// Creates a list of providers.
    ///
    /// - Parameter clients: at least one.
    public init(_ clients: [SubscriptionClient]) {
        precondition(!clients.isEmpty, "an app without providers cannot work")
        self.clients = clients
    }

    /// The provider for a product.
    ///
    /// - Parameter product: the id of the product.
    /// - Returns: the first provider that claims the product; the last in the list if none does.
    public func provider(for product: String) async -> SubscriptionClient {
        for client in clients where await client.claims(product) { return client }
        return clients[clients.count - 1]
    }

    /// Gets what opens the download of an edition, from the provider that claims it.
    ///
    /// - Parameter product: the id of the product.
    /// - Returns: the credentials, for one download.
    /// - Throws: ``ReaderError``, as ``SubscriptionClient/credentials(for:)`` does.
    public func credentials(for product: String) async throws(ReaderError) -> EditionAccess {
        try await provider(for: product).credentials(for: product)
    }

    /// Signs in with the first provider that recognizes the name and password.
    ///
    /// - Parameters:
    ///   - name: the name as typed.
    ///   - password: the password as typed; every provider up to the one that recognizes it receives it.
    /// - Returns: the provider, and its response about the account.
    /// - Throws: the first refusal with a reason other than "not recognised", or else the last error.
    public func signIn(
        name: String,
        password: String
    ) async throws(ReaderError) -> (client: SubscriptionClient, refresh: SubscriptionClient.Refresh) {
        var told: ReaderError?
        var last = ReaderError.signedOut
        for client in clients {
            do throws(ReaderError) {
                return (client, try await client.signIn(name: name, password: password))
            } catch {
                last = error
                if error.code == .refused, error.status != "notrecognised" { told = told ?? error }
            }
        }
        throw told ?? last
    }

    /// Asks every provider with a session what the account has, all concurrently.
    public func refresh() async {
        await withTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { _ = try? await client.refresh() } }
        }
    }
}
