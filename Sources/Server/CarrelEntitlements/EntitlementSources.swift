// SPDX-License-Identifier: Apache-2.0

/// The sources, and the order of queries for each call.
package struct EntitlementSources: Sendable {
    /// The sources in the order of the configuration.
    package let inOrder: [any EntitlementSource]

    package init(inOrder: [any EntitlementSource]) {
        self.inOrder = inOrder
    }

    /// Whether all their grants say how many revocations there were.
    package var countRevocations: Bool { inOrder.allSatisfy(\.countsRevocations) }

    /// Queries the source that issued the token or, if none did, those that could have: in order, up to the first definite
    /// response. So a token made by Carrel is sent to no other source.
    ///
    /// - Returns: the response, nil if no source knows the token; and the failure of an unreachable source, which only counts then.
    /// - Throws: ``SourceFailure`` when the source that issued the token is unreachable.
    package func ask<Answer>(
        about token: String,
        _ call: (any EntitlementSource) async throws -> Answer?,
        leavesNoDoubt: (Answer) -> Bool
    ) async throws -> (answer: Answer?, failure: SourceFailure?) {
        guard !token.isEmpty else { return (nil, nil) }
        for source in inOrder where source.knowsTokensByForm {
            if let answer = try await call(source) { return (answer, nil) }
        }
        let others = inOrder.filter { !$0.knowsTokensByForm }
        for source in others where try await source.owns(token) { return (try await call(source), nil) }
        var (first, failure) = (Answer?.none, SourceFailure?.none)
        for source in others {
            do {
                guard let answer = try await call(source) else { continue }
                if leavesNoDoubt(answer) { return (answer, nil) }
                first = first ?? answer
            } catch let error as SourceFailure {
                failure = failure ?? error
            }
        }
        return (first, failure)
    }

    /// The status of a token's account; nil if no source knows the token.
    ///
    /// - Throws: ``SourceFailure`` if a source that might know the token fails.
    package func status(of token: String) async throws -> SubscriptionStatus? {
        let (status, failure) = try await ask(about: token) {
            try await $0.status(of: token)
        } leavesNoDoubt: {
            $0.state == .active || $0.state == .suspended || $0.issues != nil
        }
        if let failure { throw failure }
        return status
    }

    /// Evicts the cached state of a token.
    package func forget(_ token: String) {
        for source in inOrder { source.forget(token) }
    }

    /// Whether the token's account may read a product. Nil for an unknown token, also while a source that might know
    /// it is unreachable.
    package func decision(on productID: String, token: String) async throws -> SourceDecision? {
        try await ask(about: token) {
            try await $0.decision(on: productID, token: token)
        } leavesNoDoubt: {
            if case .granted = $0 { true } else { false }
        }.answer
    }
}
