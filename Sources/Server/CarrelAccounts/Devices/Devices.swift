// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelStore

/// The devices of accounts: registered when an app signs in, listed, revoked, freed when it signs out.
package struct Devices: Sendable {
    let database: any Database
    let clock: any WallClock
    let lifecycle: AccountLifecycle

    /// The device that an app reports at sign-in.
    package struct Claim: Sendable {
        /// A fresh id, should the device be new.
        let id = Random.uuid()
        package let keyHash: [UInt8]
        let name: String

        /// - Parameters:
        ///   - key: what names the installation; an app that names none is a new device at each sign-in.
        ///   - name: what to call it.
        package init(key: String?, name: String) {
            keyHash = SHA256.hash(Array((key ?? Random.uuid()).utf8).rawSpan)
            let text = Devices.cleaned(name)
            self.name = text.isEmpty ? "unnamed device" : text
        }

        /// Whether a text names an installation: apps that know none send nothing, zeros, or the word that their language has for
        /// it, which would make one device of all of them.
        package static func isKey(_ text: String) -> Bool {
            let word = text.lowercased().filter { !" \t-{}()".contains($0) }
            return !word.allSatisfy { $0 == "0" } && !["null", "nil", "none", "undefined", "unknown"].contains(word)
        }

    }

    /// Registers a device in the transaction of a sign-in.
    ///
    /// - Returns: its id; nil if the account has no slot for it.
    package static func register(
        _ claim: Claim,
        of account: String,
        policy: DevicePolicy,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> String? {
        let known = try DeviceStore.device(keyHash: claim.keyHash, of: account, in: transaction)
        if let known, known.freedAt == nil {
            try DeviceStore.take(known, name: claim.name, at: now, in: transaction)
            return known.id
        }
        func allButThis() throws -> [Device] {
            try DeviceStore.devices(of: account, in: transaction).filter { $0.id != known?.id }
        }
        var others = policy.limit == nil ? [] : try allButThis()
        if !policy.allowsOneMore(beside: others, at: now) {
            // Those whose sessions ended by themselves hold their slots still.
            try DeviceStore.freeUnused(of: account, at: now, in: transaction)
            others = try allButThis()
        }
        guard policy.allowsOneMore(beside: others, at: now) else { return nil }
        if let known {
            let returned = known.returned(at: now, beside: others, coolDown: policy.coolDown)
            try DeviceStore.take(returned, name: claim.name, at: now, in: transaction)
            return known.id
        }
        let device = Device(id: claim.id, accountID: account, name: claim.name, createdAt: now, seenAt: now)
        try DeviceStore.insert(device, keyHash: claim.keyHash, in: transaction)
        return device.id
    }

    /// Keeps the slot of a device until a time, though it may have no session; nil ends that.
    package static func hold(_ id: String, until instant: Instant?, in transaction: any Transaction) throws {
        try DeviceStore.hold(id, until: instant, in: transaction)
    }

    /// Whether a device has no slot.
    package static func isFree(_ id: String, in transaction: any Transaction) throws -> Bool {
        try DeviceStore.device(id: id, in: transaction)?.freedAt != nil
    }

    /// Ends a player's hold of a device's slot. The slot is freed, as signing out does, unless a session uses it.
    package static func release(_ id: String, at now: Instant, in transaction: any Transaction) throws {
        try DeviceStore.hold(id, until: nil, in: transaction)
        try DeviceStore.freeSessionless(id, at: now, in: transaction)
    }

    /// A name fit for lists: trimmed, of at most 100 characters, without control characters, separators of lines and paragraphs,
    /// and controls of the writing direction (UAX #9), which change how the text next to it is read.
    package static func cleaned(_ name: String) -> String {
        let scalars = name.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isBidiControl
            }
        }
        let words = scalars.drop { $0.properties.isWhitespace }.prefix(100)
        let end = words.lastIndex { !$0.properties.isWhitespace }.map { words.index(after: $0) } ?? words.startIndex
        return String(String.UnicodeScalarView(words[..<end]))
    }

    /// Calls a device what people call it, whatever its app says at the next sign-in.
    ///
    /// - Parameters:
    ///   - id: the device.
    ///   - account: whose it is.
    ///   - name: what to call it; nil for what its app says.
    ///   - actor: the actor for the audit log.
    /// - Returns: the device with its name.
    /// - Throws: ``ServerError`` `invalid` if nothing is left of the name, `notFound` where the account has no such device.
    package func rename(_ id: String, of account: Account, to name: String?, by actor: AuditActor) async throws -> Device {
        let given = name.map { Self.cleaned($0) }
        guard given?.isEmpty != true else {
            throw ServerError(.invalid, "name must not be empty; null restores the name that the app reported")
        }
        let entry = actor.entry("device.rename", on: id, at: clock.now)
        return try await database.write { transaction in
            guard var device = try DeviceStore.device(id: id, in: transaction), device.accountID == account.id else {
                throw Self.unknown
            }
            try DeviceStore.rename(id, to: given, in: transaction)
            try AuditStore.append(entry, in: transaction)
            device.givenName = given
            return device
        }
    }

    private static let unknown = ServerError(.notFound, "the account has no such device")

    package func list(of account: Account) async throws -> [Device] {
        try await database.read { try DeviceStore.devices(of: account.id, in: $0) }
    }

    /// Revokes every device of an account for its staff, and resets the count of device changes.
    ///
    /// - Returns: the number of signed-in devices.
    package func revokeAll(of account: Account, by actor: AuditActor) async throws -> Int {
        let now = clock.now
        return try await lifecycle.write(in: database) { transaction, changes in
            let held = try DeviceStore.devices(of: account.id, in: transaction).filter { $0.freedAt == nil }
            for device in held { try SessionStore.deleteAll(ofDevice: device.id, in: transaction) }
            try DeviceStore.freeAllForStaff(of: account.id, at: now, in: transaction)
            try changes.note(.devicesRevoked, of: account.id, by: actor, at: now, in: transaction)
            try AuditStore.append(
                actor.entry("device.revoke-all", on: account.id, at: now, reason: String(held.count)),
                in: transaction
            )
            return held.count
        }
    }

    /// Revokes a device: ends its sessions immediately, frees its slot, and revokes the account's issued credentials.
    ///
    /// - Parameters:
    ///   - id: the device.
    ///   - account: the account.
    ///   - isOwner: whether the owner acts, for whom the device limit's cool-down applies; false for staff.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `notFound` without such a device.
    package func revoke(_ id: String, of account: Account, isOwner: Bool, by actor: AuditActor) async throws {
        let entry = actor.entry("device.revoke", on: id, at: clock.now)
        try await lifecycle.write(in: database) { transaction, changes in
            guard let device = try DeviceStore.device(id: id, in: transaction), device.accountID == account.id else {
                throw Self.unknown
            }
            try SessionStore.deleteAll(ofDevice: id, in: transaction)
            if isOwner {
                try DeviceStore.free(id, at: entry.at, in: transaction)
            } else {
                try DeviceStore.freeForStaff(id, at: entry.at, in: transaction)
            }
            try changes.note(.devicesRevoked, of: account.id, by: actor, at: entry.at, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }
}
