package import CarrelBytes
import CarrelJSON

/// The capabilities of a device during playback. A capability that it cannot enforce is missing.
package struct HostCapabilities: Sendable, Equatable {
    /// The obligations that this host meets, by name.
    package var obligations: Set<String> = []
    /// Whether its outputs are protected so far that the default output rule is met. No Linux desktop is.
    package var protectsOutputs = false

    package init() {}
}

/// The use that a license is evaluated for.
package enum LicenseAction: String, Sendable, CaseIterable {
    case play
    case read
    case export
    case print
    case copy
}

/// A license as a device keeps it: what the service signed, and what happened to it here.
package struct LicenseRecord: Sendable, Equatable {
    package let license: License
    /// When it was first played; the second clock of a dual expiry runs from then.
    package var firstPlay: Instant?
    /// How often it was played.
    package var plays = 0
    /// When its lease was last renewed; of streams alone.
    package var leaseRenewedAt: Instant?

    package init(_ license: License) { self.license = license }
}

/// The result of an evaluation.
package struct ActionResult: Sendable, Equatable {
    /// Why a right is not granted.
    package enum Reason: String, Sendable, CaseIterable {
        case noLicense = "no-license"
        case notYetValid = "not-yet-valid"
        case expiredStorage = "expired-storage"
        case expiredPlayback = "expired-playback"
        case countExhausted = "count-exhausted"
        case deviceMismatch = "device-mismatch"
        case revoked
        case clockRollback = "clock-rollback"
        case unsupportedObligation = "unsupported-critical-obligation"
        case concurrency
        case outputNotAllowed = "output-not-allowed"
    }

    /// When the host must ask again.
    package enum Callback: Sendable, Equatable {
        case at(Instant)
        case onOutputChange
        case onStop
    }

    /// Nil where the right is granted.
    package let reason: Reason?
    /// Until when it is granted without another evaluation; nil for no end.
    package let until: Instant?
    /// Maximum number of pixels; nil for no limit.
    package let maxPixels: Int?
    /// Obligations that the host must meet meanwhile.
    package let obligations: [Obligation]
    /// Obligations that it does not meet and need not.
    package let unmet: [Obligation]
    package let callbacks: [Callback]

    package var isGranted: Bool { reason == nil }

    static func refused(_ reason: Reason) -> ActionResult {
        ActionResult(reason: reason, until: nil, maxPixels: nil, obligations: [], unmet: [], callbacks: [])
    }

    package init(
        reason: Reason?,
        until: Instant?,
        maxPixels: Int?,
        obligations: [Obligation],
        unmet: [Obligation],
        callbacks: [Callback]
    ) {
        self.reason = reason
        self.until = until
        self.maxPixels = maxPixels
        self.obligations = obligations
        self.unmet = unmet
        self.callbacks = callbacks
    }
}

/// Evaluates licenses. `check` changes nothing; `perform` says what changes when the action is done.
package struct Evaluation: Sendable {
    /// The player that the licenses must be for.
    package let player: String
    /// The serial number of its certificate, in lower-case hexadecimal digits.
    package let serial: String
    package let host: HostCapabilities
    package let time: TrustedClock.Reading
    /// The newest list of revocations that the device has.
    package let revocations: Revocations?

    package init(player: String, serial: String, host: HostCapabilities, time: TrustedClock.Reading, revocations: Revocations?) {
        self.player = player
        self.serial = serial
        self.host = host
        self.time = time
        self.revocations = revocations
    }

    /// Whether an action is allowed, what limits it and what it asks of the host. Nothing is changed.
    ///
    /// - Parameters:
    ///   - action: what is to be done.
    ///   - record: the license; nil where there is none.
    ///   - needsOpenOutput: whether the content leaves the player as plain bytes, as DCF files and books do.
    /// - Returns: the result.
    package func check(_ action: LicenseAction, _ record: LicenseRecord?, needsOpenOutput: Bool = false) -> ActionResult {
        guard let record else { return .refused(.noLicense) }
        let license = record.license
        guard license.player == player else { return .refused(.deviceMismatch) }
        if let reason = revoked(license) ?? limits(record) { return .refused(reason) }
        var (duties, unmet): ([Obligation], [Obligation]) = ([], [])
        for obligation in license.obligations {
            if host.obligations.contains(obligation.type) {
                duties.append(obligation)
            } else if obligation.isCritical {
                return .refused(.unsupportedObligation)
            } else {
                unmet.append(obligation)
            }
        }
        if forbids(action, license) { return .refused(.outputNotAllowed) }
        if needsOpenOutput, !host.protectsOutputs, !license.obligations.contains(where: { $0.type == Self.openOutput }) {
            return .refused(.outputNotAllowed)
        }
        let end = end(of: record, afterPlaying: true)
        var callbacks: [ActionResult.Callback] = [.onStop]
        if let end { callbacks.append(.at(end)) }
        if !duties.isEmpty { callbacks.append(.onOutputChange) }
        return ActionResult(
            reason: nil,
            until: end,
            maxPixels: pixels(license),
            obligations: duties,
            unmet: unmet,
            callbacks: callbacks
        )
    }

    /// The same, and the record after the action: first play and count. The caller keeps the record before the first byte flows.
    package func perform(
        _ action: LicenseAction,
        _ record: LicenseRecord?,
        needsOpenOutput: Bool = false
    ) -> (result: ActionResult, record: LicenseRecord?) {
        let result = check(action, record, needsOpenOutput: needsOpenOutput)
        guard result.isGranted, var record else { return (result, record) }
        // A first play in a time that may be wrong would move the end of a rental.
        if time.certainty == .farAhead, record.firstPlay == nil, record.license.terms.playbackSeconds != nil {
            return (.refused(.clockRollback), record)
        }
        if action == .play || action == .read {
            record.firstPlay = record.firstPlay ?? time.instant
            record.plays += 1
        }
        return (result, record)
    }

    /// The obligation that lifts the default output rule, as the extension `wudo` does.
    package static let openOutput = "wudo"

    private func revoked(_ license: License) -> ActionResult.Reason? {
        guard let revocations else { return license.minimumRevocations > 0 ? .revoked : nil }
        if revocations.number < license.minimumRevocations { return .revoked }
        if revocations.licenses.contains(license.id) || revocations.serials.contains(serial) { return .revoked }
        let isAnyLeft = license.keys.contains { !revocations.keyIDs.contains($0.id.hex) }
        return license.keys.isEmpty || isAnyLeft ? nil : .revoked
    }

    private func limits(_ record: LicenseRecord) -> ActionResult.Reason? {
        let terms = record.license.terms
        if let count = terms.playCount, record.plays >= count { return .countExhausted }
        guard terms.isLimitedInTime else { return nil }
        switch time.certainty {
        case .rolledBack: return .clockRollback
        case .unreadable: return record.firstPlay == nil ? .expiredStorage : .expiredPlayback
        case .signed, .estimated, .farAhead: break
        }
        if let start = terms.notBefore, time.instant < start { return .notYetValid }
        // A clock that showed an earlier time when the license came was wrong.
        if time.instant + TrustedClock.tolerance < record.license.issuedAt { return .clockRollback }
        if let first = record.firstPlay, time.instant + TrustedClock.tolerance < first { return .clockRollback }
        guard let end = end(of: record, afterPlaying: false), time.instant >= end else { return nil }
        return record.firstPlay == nil ? .expiredStorage : .expiredPlayback
    }

    /// When the license ends; nil for never.
    private func end(of record: LicenseRecord, afterPlaying isPlaying: Bool) -> Instant? {
        let (license, terms) = (record.license, record.license.terms)
        var ends: [Instant] = []
        if let end = terms.notAfter { ends.append(end) }
        let firstPlay = record.firstPlay ?? (isPlaying ? time.instant : nil)
        if let firstPlay {
            if let seconds = terms.playbackSeconds { ends.append(firstPlay + .seconds(seconds)) }
            // Without a second clock the first one goes on.
            if terms.playbackSeconds == nil, let seconds = terms.storageSeconds {
                ends.append(license.issuedAt + .seconds(seconds))
            }
        } else if let seconds = terms.storageSeconds {
            ends.append(license.issuedAt + .seconds(seconds))
        }
        if let seconds = terms.leaseSeconds { ends.append((record.leaseRenewedAt ?? license.issuedAt) + .seconds(seconds)) }
        return ends.min()
    }

    private func forbids(_ action: LicenseAction, _ license: License) -> Bool {
        let kind: Obligation.Kind? =
            switch action {
            case .export: .noExport
            case .print: .noPrint
            case .play, .read, .copy: nil
            }
        return kind.map { kind in license.obligations.contains { $0.type == kind.rawValue } } ?? false
    }

    private func pixels(_ license: License) -> Int? {
        license.obligations.filter { $0.type == Obligation.Kind.imageConstraint.rawValue }.compactMap {
            $0.parameters["pixels"]?.int
        }.min()
    }
}
