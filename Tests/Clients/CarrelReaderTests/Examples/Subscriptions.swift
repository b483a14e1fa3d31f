// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelReader
import CarrelUpstream

/// The app's subscription with one publisher; the token and the last answer are kept in a file of the app.
func subscription(at address: String, file: String, installation: String) throws -> SubscriptionClient {
    let calls = try SubscriptionCalls(SubscriptionEndpoints(base: address), client: HTTPClient())
    return try SubscriptionClient(
        name: "publisher",
        calls: calls,
        store: FileSubscriptionStore(path: file),
        device: installation
    )
}

/// Signs in. Returns nil on success, otherwise a message for the user.
func signIn(_ name: String, _ password: String, _ client: SubscriptionClient) async throws -> String? {
    do throws(ReaderError) {
        _ = try await client.signIn(name: name, password: password)
        return nil
    } catch {
        guard error.code == .refused else { throw error }
        return error.providerMessage ?? "Wrong name or password."
    }
}

/// The products that may be read now, asked of the publisher if it can be reached.
func readable(_ products: [String], _ client: SubscriptionClient) async throws -> [String] {
    _ = try await client.refresh()
    guard let state = await client.state else { return [] }
    return products.filter { state.allows($0) }
}

/// A request for the download of an edition, with the credentials that the publisher issued for it.
func downloadRequest(_ product: String, url: String, _ client: SubscriptionClient) async throws -> ClientRequest {
    let access = try await client.credentials(for: product)
    return ClientRequest(url, headers: access.headers)
}

/// Asks the publishers of an app in order: the first that claims the product.
func credentials(for product: String, from clients: [SubscriptionClient]) async throws -> EditionAccess {
    try await SubscriptionProviders(clients).credentials(for: product)
}
