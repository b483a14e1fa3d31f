import CarrelBytes
import CarrelCrypto
import CarrelHTTPServer
import CarrelStore
import CarrelUpstream

extension SubscriptionSettings {
    /// The sources, in the order in which they are asked; the canned users are the last.
    ///
    /// What is kept of the tokens of systems upstream is hashed under the secret.
    func sources(
        database: any Database,
        clock: any WallClock,
        sessions: Sessions,
        check: PasswordCheck,
        products: ProductCatalog,
        known: KnownHoldings,
        receipts: ReceiptSource?,
        secret: Secret,
        metrics: MetricsRegistry
    ) throws(UpstreamError) -> EntitlementSources {
        var made: [any EntitlementSource] = []
        for source in sources {
            switch source {
            case .accounts:
                made.append(
                    OwnAccounts(
                        database: database,
                        clock: clock,
                        sessions: sessions,
                        check: check,
                        products: products,
                        known: known,
                        devicePolicy: devices,
                        givesFeedPasswords: givesFeedPasswords
                    )
                )
            case .upstream(let upstream):
                made.append(
                    try UpstreamSource(
                        upstream,
                        database: database,
                        clock: clock,
                        products: products,
                        throttle: check.throttle,
                        secret: secret,
                        metrics: metrics
                    )
                )
            }
        }
        if let receipts { made.append(receipts) }
        if hasCannedUsers { made.append(CannedUsers(issues: cannedIssues, clock: clock, sleep: sleep)) }
        return EntitlementSources(inOrder: made)
    }
}
