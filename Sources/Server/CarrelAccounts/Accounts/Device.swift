// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An installation of an app, belonging to an account.
package struct Device: Sendable, Equatable {
    package let id: String
    package let accountID: String
    /// The name that the app reported.
    package let appName: String
    /// The name set by its owner or support.
    package var givenName: String?
    package let createdAt: Instant
    package let seenAt: Instant
    /// The time when sign-out or revocation freed its slot; nil while it has a slot.
    package let freedAt: Instant?
    /// When it last took a slot that another device may have had before.
    package var takenAt: Instant
    /// Number of departures: times when another device took its slot before it came back, with the time of the last.
    package var departures = 0
    package var departedAt: Instant?

    /// Whether staff freed its slot for an owner who lost the device; that does not count as a departure.
    package var wasFreedByStaff: Bool { freedAt != nil && departures == 0 && departedAt == freedAt }

    /// The displayed name.
    package var name: String { givenName ?? appName }

    package init(id: String, accountID: String, name: String, createdAt: Instant, seenAt: Instant, freedAt: Instant? = nil) {
        self.id = id
        self.accountID = accountID
        appName = name
        self.createdAt = createdAt
        self.seenAt = seenAt
        self.freedAt = freedAt
        takenAt = createdAt
    }

    /// The number of slots it left within the cool-down before now.
    fileprivate func departures(within coolDown: Duration, of now: Instant) -> Int {
        func isRecent(_ instant: Instant?) -> Bool { instant.map { now - $0 < coolDown } ?? false }
        return (isRecent(freedAt) && !wasFreedByStaff ? 1 : 0) + (isRecent(departedAt) ? departures : 0)
    }

    /// The device after it takes a slot again. If another device has come meanwhile, its departure counts.
    ///
    /// - Parameters:
    ///   - now: the time of its return.
    ///   - others: the account's other devices.
    ///   - coolDown: the time for which a departure counts.
    /// - Returns: the device's new state.
    func returned(at now: Instant, beside others: [Device], coolDown: Duration) -> Device {
        var device = Device(id: id, accountID: accountID, name: appName, createdAt: createdAt, seenAt: now)
        device.givenName = givenName
        (device.takenAt, device.departures, device.departedAt) = (takenAt, departures, departedAt)
        if let freedAt, others.contains(where: { $0.takenAt > freedAt }) {
            device.departures = departures(within: coolDown, of: now)
            device.departedAt = device.departures > 0 ? freedAt : nil
            device.takenAt = now
        }
        return device
    }
}

/// The device limit of an account, with its cool-down.
package struct DevicePolicy: Sendable, Equatable {
    /// Nil for any number.
    package var limit: Int?
    /// Cool-down of a freed slot: within it, no more devices than the limit can be replaced.
    package var coolDown = Duration.seconds(24 * 3600)

    package init(limit: Int? = nil) {
        self.limit = limit
    }

    /// Whether the account can add another device to those it has had.
    package func allowsOneMore(beside devices: [Device], at now: Instant) -> Bool {
        guard let limit else { return true }
        let held = devices.count { $0.freedAt == nil }
        let left = devices.reduce(0) { $0 + $1.departures(within: coolDown, of: now) }
        return held < limit && left < limit
    }
}
