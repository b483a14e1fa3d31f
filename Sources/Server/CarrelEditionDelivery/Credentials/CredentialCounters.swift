// SPDX-License-Identifier: Apache-2.0

import CarrelCatalog
import CarrelMetrics

/// Numbers of presented pairs, by scheme and outcome.
struct CredentialCounters: Sendable {
    enum Scheme: String, CaseIterable { case hmac, sha1 }

    private let counters: [[Counter]]

    init(_ metrics: MetricsRegistry) {
        let outcomes = ["accepted"] + EditionCredentials.Refusal.allCases.map(\.rawValue)
        counters = Scheme.allCases.map { scheme in
            outcomes.map { outcome in
                metrics.counter(
                    "carrel_edition_credentials_total",
                    "Edition credentials that clients presented, by scheme (sha1: the legacy scheme, if accepted).",
                    [("scheme", scheme.rawValue), ("outcome", outcome)]
                )
            }
        }
    }

    func count(_ scheme: Scheme, _ refusal: EditionCredentials.Refusal?) {
        let outcome = refusal.flatMap(EditionCredentials.Refusal.allCases.firstIndex).map { $0 + 1 } ?? 0
        counters[scheme == .hmac ? 0 : 1][outcome].add()
    }
}
