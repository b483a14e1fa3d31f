// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelEditionDelivery
package import CarrelEntitlementSources
package import CarrelEntitlements

/// Settings of subscriptions.
package struct SubscriptionSettings: Sendable {
    /// A source of entitlements.
    package enum Source: Sendable {
        /// Carrel's own accounts.
        case accounts
        case upstream(UpstreamSettings)
    }

    /// Asked in this order.
    package var sources: [Source] = [.accounts]
    /// Whether the canned users exist, for testing an app against every case.
    package var hasCannedUsers = false
    /// The products that they know of.
    package var cannedIssues = CannedUsers.Issues()
    /// The delay of canned users that respond late; injected for tests.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Lifetime of edition credentials.
    package var credentialLife = Duration.seconds(24 * 3600)
    package var devices = DevicePolicy()
    /// Whether categories say their term as `value` too, which some apps read.
    package var alsoValue = false

    /// Parameter names of the five calls.
    package var names = ParameterNames()
    /// Whether calls with a token or a password in the query are refused.
    package var refusesQuerySecrets = false
    /// Whether responses end with a comment about the request, for debugging apps.
    package var saysWhatWasAsked = false
    /// Whether sign_in also returns a credential for feeds.
    package var givesFeedPasswords = false
    /// Credentials of the field's old scheme that are let in; nil for none.
    package var sha1: SHA1Credentials?

    package init() {}
}
