/// What the operator decides about subscriptions.
package struct SubscriptionSettings: Sendable {
    /// Where it is known who may read what.
    package enum Source: Sendable {
        /// Carrel's own accounts.
        case accounts
        case upstream(UpstreamSettings)
    }

    /// Asked in this order.
    package var sources: [Source] = [.accounts]
    /// Whether the canned users exist, for testing an app against every case.
    package var hasCannedUsers = false
    /// How long an edition's credentials live.
    package var credentialLife = Duration.seconds(24 * 3600)
    package var devices = DevicePolicy()
    /// Whether categories say their term as `value` too, which some apps read.
    package var alsoValue = false

    package init() {}
}
