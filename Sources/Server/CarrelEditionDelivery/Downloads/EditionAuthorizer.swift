// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMetrics
import CarrelWebAPI

/// Authorization of requests for protected resources. The route determines the product, never the client.
package struct EditionAuthorizer: Sendable {
    let credentials: CredentialKeyring
    let readers: ReaderEntitlement
    private let passed: Counter
    private let refused: [EditionCredentials.Refusal: Counter]

    init(
        credentials: CredentialKeyring,
        readers: ReaderEntitlement,
        metrics: MetricsRegistry
    ) {
        self.credentials = credentials
        self.readers = readers
        func counter(_ outcome: String) -> Counter {
            metrics.counter(
                "carrel_edition_checks_total",
                "Authorization checks of edition downloads, by outcome.",
                [("outcome", outcome)]
            )
        }
        passed = counter("passed")
        refused = Dictionary(
            uniqueKeysWithValues: [EditionCredentials.Refusal.invalid, .expired, .revoked].map { ($0, counter($0.rawValue)) }
        )
    }

    /// Whether the request may have what the product's credentials open.
    ///
    /// - Parameters:
    ///   - request: carries credentials of the edition, or an account's session, or where readers are challenged, the account's
    ///     own name and password.
    ///   - productID: the product, from the route.
    ///   - style: the style of refusals, which also decides the accepted credentials.
    /// - Returns: nil if allowed, else the refusal.
    /// - Throws: the database's error, which refuses the request.
    func refusal(of request: HTTPRequest, to productID: String, _ style: RefusalStyle) async throws -> EditionCredentials.Refusal?
    {
        let refusal = try await refusalUncounted(of: request, to: productID, style)
        (refusal.flatMap { refused[$0] } ?? passed).add()
        return refusal
    }

    private func refusalUncounted(
        of request: HTTPRequest,
        to productID: String,
        _ style: RefusalStyle
    ) async throws -> EditionCredentials.Refusal? {
        let authorization = request.headers["Authorization"]
        if let authorization, credentials.opens(authorization, product: productID) { return nil }
        guard let (user, password) = request.basicCredentials else {
            return try await readers.mayRead(productID, session: request) ? nil : .invalid
        }
        let pair = EditionCredentials.Pair(userID: user, password: password)
        do {
            try await credentials.verify(pair, product: productID, from: authorization)
            return nil
        } catch let error as EditionCredentials.Refusal {
            // Forged pairs, and pairs of a deleted key, are refused without a database read; a reader's own password is not.
            guard error == .invalid, style == .challenge, !EditionCredentials.hasForm(pair) else { return error }
        }
        return try await readers.mayRead(productID, basic: request) ? nil : .invalid
    }
}
