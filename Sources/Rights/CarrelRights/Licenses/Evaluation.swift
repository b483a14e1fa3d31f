// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelJSON

/// The capabilities of a device during playback. A capability that it cannot enforce is missing.
public struct HostCapabilities: Sendable, Equatable {
    /// The obligations that this host enforces, by name.
    public var obligations: Set<String> = []
    /// Whether its outputs are protected so far that the default output rule is met. No Linux desktop is.
    public var protectsOutputs = false

    /// Creates capabilities without obligations.
    public init() {}
}

/// The use that a license is evaluated for.
public enum LicenseAction: String, Sendable, CaseIterable {
    /// Audio or video is played.
    case play
    /// A publication is read.
    case read
    /// Content leaves the app in another format.
    case export
    /// Pages are printed.
    case print
    /// Text is copied.
    case copy
}

/// A license as stored on a device: the signed license, and its local state.
package struct LicenseRecord: Sendable, Equatable {
    package let license: License
    /// When it was first played; the second clock of a dual expiry runs from then.
    package var firstPlay: Instant?
    /// How often it was played.
    package var plays = 0
    /// When its lease was last renewed; of streams alone.
    package var leaseRenewedAt: Instant?

    package init(_ license: License) { self.license = license }

    /// When the license ends as things are; nil for never.
    package var end: Instant? { end(playingFrom: nil) }

    /// When the license ends, if it is played from a time on that was not played before; nil for never.
    package func end(playingFrom start: Instant?) -> Instant? {
        let terms = license.terms
        var ends: [Instant] = []
        if let end = terms.notAfter { ends.append(end) }
        if let firstPlay = firstPlay ?? start {
            if let seconds = terms.playbackSeconds { ends.append(firstPlay + .seconds(seconds)) }
            // Without a playback limit, the storage limit stays in force.
            if terms.playbackSeconds == nil, let seconds = terms.storageSeconds {
                ends.append(license.issuedAt + .seconds(seconds))
            }
        } else if let seconds = terms.storageSeconds {
            ends.append(license.issuedAt + .seconds(seconds))
        }
        if let seconds = terms.leaseSeconds { ends.append((leaseRenewedAt ?? license.issuedAt) + .seconds(seconds)) }
        return ends.min()
    }
}

/// The result of an evaluation.
public struct ActionResult: Sendable, Equatable {
    /// Why a right is not granted.
    public enum Reason: String, Sendable, CaseIterable {
        /// There is no license for the content.
        case noLicense = "no-license"
        /// The license begins later.
        case notYetValid = "not-yet-valid"
        /// The license ended before it was played.
        case expiredStorage = "expired-storage"
        /// The time since the first play is over.
        case expiredPlayback = "expired-playback"
        /// The license was played as often as it may be.
        case countExhausted = "count-exhausted"
        /// The license is for another device.
        case deviceMismatch = "device-mismatch"
        /// The license, its keys or the device were revoked, or the list of revocations is too old.
        case revoked
        /// The clock was set back: get the time from the service.
        case clockRollback = "clock-rollback"
        /// The license demands something that this host cannot do.
        case unsupportedObligation = "unsupported-critical-obligation"
        /// The concurrent-stream limit is reached: a stream must stop. Only the service counts streams; the device learns of it
        /// when it requests one.
        case concurrency
        /// The license forbids the action, or the outputs are not protected enough.
        case outputNotAllowed = "output-not-allowed"
    }

    /// When the host must check again.
    public enum Callback: Sendable, Equatable {
        /// At a time.
        case at(Instant)
        /// When an output is added or changes.
        case onOutputChange
        /// When playback stops.
        case onStop
    }

    /// The reason for a refusal; nil if the right is granted.
    public let reason: Reason?
    /// Until when it is granted without another evaluation; nil for no end.
    public let until: Instant?
    /// Whole seconds until then, counted from the evaluation; nil for no end.
    public let secondsLeft: Int?
    /// The usable key IDs of the license, 32 hexadecimal digits each: all that are not revoked. Empty if nothing is granted.
    public let usableKeyIDs: [String]
    /// Maximum number of pixels; nil for no limit.
    public let maxPixels: Int?
    /// Obligations that the host must enforce during the action.
    public let obligations: [Obligation]
    /// Obligations that it does not meet and need not.
    public let unmet: [Obligation]
    /// When the host must check again.
    public let callbacks: [Callback]

    /// Whether the action is allowed.
    public var isGranted: Bool { reason == nil }

    package static func refused(_ reason: Reason) -> ActionResult {
        ActionResult(reason: reason, until: nil, maxPixels: nil, obligations: [], unmet: [], callbacks: [])
    }

    package init(
        reason: Reason?,
        until: Instant?,
        secondsLeft: Int? = nil,
        usableKeyIDs: [String] = [],
        maxPixels: Int?,
        obligations: [Obligation],
        unmet: [Obligation],
        callbacks: [Callback]
    ) {
        self.reason = reason
        self.until = until
        self.secondsLeft = secondsLeft
        self.usableKeyIDs = usableKeyIDs
        self.maxPixels = maxPixels
        self.obligations = obligations
        self.unmet = unmet
        self.callbacks = callbacks
    }
}

/// Evaluates licenses. `check` changes nothing; `perform` returns the changes of a performed action.
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

    /// Decides whether an action is allowed, with its limits and the host's obligations. Changes nothing.
    ///
    /// - Parameters:
    ///   - action: the action.
    ///   - record: the license; nil if there is none.
    ///   - needsOpenOutput: whether the content leaves the player as plain bytes, as DCF files and books do.
    ///   - isUnderWay: whether the action has begun and was counted.
    /// - Returns: the result.
    package func check(
        _ action: LicenseAction,
        _ record: LicenseRecord?,
        needsOpenOutput: Bool = false,
        isUnderWay: Bool = false
    ) -> ActionResult {
        guard let record else { return .refused(.noLicense) }
        let license = record.license
        guard license.player == player else { return .refused(.deviceMismatch) }
        if let reason = revoked(license) ?? limits(record, isUnderWay) { return .refused(reason) }
        var (duties, unmet): ([Obligation], [Obligation]) = ([], [])
        for obligation in license.obligations {
            let isMet = host.obligations.contains(obligation.type) && !Self.isConstrained(obligation)
            if isMet {
                duties.append(obligation)
            } else if obligation.isCritical || Self.isConstrained(obligation) {
                return .refused(.unsupportedObligation)
            } else {
                unmet.append(obligation)
            }
        }
        if forbids(action, license) { return .refused(.outputNotAllowed) }
        if needsOpenOutput, !host.protectsOutputs, !license.obligations.contains(where: { $0.type == Self.openOutput }) {
            return .refused(.outputNotAllowed)
        }
        let end = record.end(playingFrom: time.instant)
        var callbacks: [ActionResult.Callback] = [.onStop]
        if let end { callbacks.append(.at(end)) }
        if !duties.isEmpty { callbacks.append(.onOutputChange) }
        return ActionResult(
            reason: nil,
            until: end,
            secondsLeft: end.map { max(0, Int(($0 - time.instant).components.seconds)) },
            usableKeyIDs: license.keys.map(\.id.hex).filter { revocations?.keyIDs.contains($0) != true },
            maxPixels: pixels(license),
            obligations: duties,
            unmet: unmet,
            callbacks: callbacks
        )
    }

    /// Checks an action, and returns the record after it: first play and count. The caller stores the record before it releases
    /// any content.
    package func perform(
        _ action: LicenseAction,
        _ record: LicenseRecord?,
        needsOpenOutput: Bool = false
    ) -> (result: ActionResult, record: LicenseRecord?) {
        let result = check(action, record, needsOpenOutput: needsOpenOutput)
        guard result.isGranted, var record else { return (result, record) }
        // Each action releases the content's keys, so that the playback period starts with the first action of any kind.
        record.firstPlay = record.firstPlay ?? time.instant
        if action == .play || action == .read { record.plays += 1 }
        return (result, record)
    }

    /// The obligation that lifts the default output rule, as the extension `wudo` does.
    package static let openOutput = "wudo"

    /// Whether an obligation lifts the default output rule under a constraint: what the constraint means is the issuer's own, so
    /// no player can meet it.
    package static func isConstrained(_ obligation: Obligation) -> Bool {
        guard obligation.type == openOutput else { return false }
        // Four zero bytes are a constraint of 0, which constrains nothing; any other payload is not known.
        let payload = obligation.parameters["payload"].map { $0.string.flatMap { Base64.decode($0) } ?? [1] } ?? []
        return !(payload.isEmpty || payload == [0, 0, 0, 0])
            || obligation.parameters["imageConstraintLevel"].map { $0 != 0 } ?? false
    }

    private func revoked(_ license: License) -> ActionResult.Reason? {
        guard let revocations else { return license.minimumRevocations > 0 ? .revoked : nil }
        if revocations.number < license.minimumRevocations { return .revoked }
        if revocations.licenses.contains(license.id) || revocations.serials.contains(serial)
            || revocations.players.contains(player)
        {
            return .revoked
        }
        let isAnyLeft = license.keys.contains { !revocations.keyIDs.contains($0.id.hex) }
        return license.keys.isEmpty || isAnyLeft ? nil : .revoked
    }

    private func limits(_ record: LicenseRecord, _ isUnderWay: Bool) -> ActionResult.Reason? {
        let terms = record.license.terms
        if !isUnderWay, let count = terms.playCount, record.plays >= count { return .countExhausted }
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
        // A first play in a time that may be wrong would move the end of a rental.
        if time.certainty == .farAhead, record.firstPlay == nil, terms.playbackSeconds != nil { return .clockRollback }
        guard let end = record.end, time.instant >= end else { return nil }
        return record.firstPlay == nil ? .expiredStorage : .expiredPlayback
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
