// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelBytes
package import CarrelStore
import CarrelSubscription

extension DevicePolicy {
    /// The device limit of an account: what staff set, else what its plans allow, else this policy's.
    ///
    /// - Parameters:
    ///   - account: the account's id.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Returns: the limit.
    /// - Throws: the database's error.
    package func applied(
        to account: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> DevicePolicy {
        var policy = self
        if let own = try AccountStore.deviceLimit(of: account, in: transaction) {
            policy.limit = own
        } else {
            let plans = try SubscriptionStore.subscriptions(of: account, in: transaction).filter { $0.isCurrent(at: now) }
            policy.limit = plans.compactMap(\.plan.deviceLimit).max() ?? policy.limit
        }
        return policy
    }
}
