// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelHome
import CarrelUpstream

extension SubscriptionSettings {
    /// The sources, in the order of queries; the canned users are last.
    func sources(
        _ context: ServiceContext,
        _ accounts: AccountsCapability,
        _ entitlements: EntitlementsCapability,
        audit: AuditFold,
        receipts: ReceiptSource?
    ) throws -> [any EntitlementSource] {
        var made: [any EntitlementSource] = []
        for source in sources {
            switch source {
            case .accounts: made.append(entitlements.source(devices: devices, givesFeedPasswords: givesFeedPasswords))
            case .upstream(let upstream):
                made.append(
                    try UpstreamSource(
                        upstream,
                        database: context.database,
                        clock: context.clock,
                        products: entitlements.subscriptions.products,
                        throttle: accounts.check.throttle,
                        audit: audit,
                        secret: try context.secret(.upstream),
                        metrics: context.metrics
                    )
                )
            }
        }
        if let receipts { made.append(receipts) }
        if hasCannedUsers { made.append(CannedUsers(issues: cannedIssues, clock: context.clock, sleep: sleep)) }
        return made
    }
}
