package import CarrelBytes

/// One installation of an app, belonging to an account.
package struct Device: Sendable, Equatable {
    package let id: String
    package let accountID: String
    /// What the app said of itself, for people.
    package let name: String
    package let createdAt: Instant
    package let seenAt: Instant
    /// When its slot became free: signed out, or revoked; nil while it holds one.
    package let freedAt: Instant?
}

/// How many devices an account may use at once.
package struct DevicePolicy: Sendable, Equatable {
    /// Nil for any number.
    package var limit: Int?
    /// Within so long after their slots became free, no more devices than the limit can be replaced by others.
    package var coolDown = Duration.seconds(24 * 3600)

    package init(limit: Int? = nil) {
        self.limit = limit
    }

    /// Whether one more device fits beside all others that the account has had.
    package func allowsOneMore(beside devices: [Device], at now: Instant) -> Bool {
        guard let limit else { return true }
        let held = devices.count { $0.freedAt == nil }
        let freed = devices.count { device in device.freedAt.map { now - $0 < coolDown } ?? false }
        return held < limit && freed < limit
    }
}
