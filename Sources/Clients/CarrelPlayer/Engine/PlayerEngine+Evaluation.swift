// SPDX-License-Identifier: Apache-2.0

import CarrelVault
import CarrelBytes
import CarrelCrypto
public import CarrelRights

/// The outcome of a question for the licenses of a content.
public struct LicenseDecision: Sendable, Equatable {
    /// The requested content.
    public let contentID: String
    /// The license that was decided by; nil without one.
    public let license: String?
    /// Whether the action is allowed, until when, and the host's obligations.
    public let result: ActionResult
}

extension PlayerEngine {
    /// Decides whether an action is allowed, without changing anything.
    ///
    /// If several licenses allow the action, the one with the highest priority is used.
    ///
    /// - Parameters:
    ///   - contentID: the content ID, or `urn:marlin:kid:…`.
    ///   - action: the use.
    ///   - needsOpenOutput: whether the content leaves the player as plain bytes, as DCF files and books do.
    /// - Returns: the decision.
    /// - Throws: `player.not-personalized`, `player.store`, `player.store-damaged`.
    public func check(
        _ contentID: String,
        action: LicenseAction = .play,
        needsOpenOutput: Bool = false
    ) async throws(PlayerError) -> LicenseDecision {
        try await decide(contentID, action, needsOpenOutput, by: try await evaluation([]))
    }

    /// Decides for a host that enforces more than the app declared: code that enforces an obligation itself names it here.
    func decide(
        _ contentID: String,
        _ use: LicensedUse
    ) async throws(PlayerError) -> LicenseDecision {
        try await decide(contentID, use.action, use.needsOpenOutput, by: try await evaluation(use.enforced))
    }

    private func decide(
        _ contentID: String,
        _ action: LicenseAction,
        _ needsOpenOutput: Bool,
        by evaluation: Evaluation
    ) async throws(PlayerError) -> LicenseDecision {
        var refusal: LicenseDecision?
        for (id, record) in try await records(for: contentID) {
            let result = evaluation.check(action, record, needsOpenOutput: needsOpenOutput)
            let decision = LicenseDecision(contentID: contentID, license: id, result: result)
            if result.isGranted { return decision }
            refusal = refusal ?? decision
        }
        return refusal
            ?? LicenseDecision(contentID: contentID, license: nil, result: evaluation.check(action, nil))
    }

    /// Begins an action. The first play and the play count are stored before this returns.
    ///
    /// - Parameters:
    ///   - contentID: the content ID, or `urn:marlin:kid:…`.
    ///   - action: the use.
    ///   - needsOpenOutput: whether the content leaves the player as plain bytes, as DCF files and books do.
    /// - Returns: the session that returns the content's keys to this package while the license allows it.
    /// - Throws: `player.denied` if no license allows it; the errors of ``check(_:action:needsOpenOutput:)``.
    public func begin(
        _ contentID: String,
        action: LicenseAction = .play,
        needsOpenOutput: Bool = false
    ) async throws(PlayerError) -> LicenseSession {
        let session = try await open(contentID, LicensedUse(action: action, needsOpenOutput: needsOpenOutput))
        try await session.begin()
        return session
    }

    /// Opens a license for an action that begins later: nothing is counted.
    ///
    /// - Parameters:
    ///   - contentID: the content ID, or `urn:marlin:kid:…`.
    ///   - use: the action, and the obligations that the caller enforces.
    /// - Returns: the session, which gives keys out after `begin`.
    /// - Throws: `player.denied` if no license allows it; `player.not-personalized`, `player.store`, `player.store-damaged`.
    package func open(_ contentID: String, _ use: LicensedUse) async throws(PlayerError) -> LicenseSession {
        let decision = try await decide(contentID, use)
        guard decision.result.isGranted, let id = decision.license else { throw Self.denied(decision.result) }
        let license: License
        var generation: Int?
        if let stream = streams[id] {
            license = stream.record.license
            generation = stream.generation
            // until the session ends or is released
            streams[id]?.uses += 1
        } else if let row = try await licenses().row(id) {
            license = try await record(row).license
        } else {
            throw Self.denied(.refused(.noLicense))
        }
        return LicenseSession(self, license, contentID: contentID, use, decision.result, generation: generation)
    }

    /// Counts an action under a license; the count is on the disk before this returns.
    ///
    /// - Parameters:
    ///   - id: the license.
    ///   - use: the action.
    /// - Returns: whether it is the first use of the license.
    /// - Throws: `player.denied`, `player.store`.
    func perform(_ id: String, _ use: LicensedUse) async throws(PlayerError) -> Bool {
        let evaluation = try await evaluation(use.enforced)
        let keys = try await trust().keys
        let (result, isFirst): (ActionResult, Bool)
        if let stream = streams[id] {
            isFirst = stream.record.firstPlay == nil
            let outcome = evaluation.perform(use.action, stream.record, needsOpenOutput: use.needsOpenOutput)
            if outcome.result.isGranted, let after = outcome.record {
                streams[id]?.record = after
            }
            result = outcome.result
        } else {
            (result, isFirst) = try await licenses().update(id) { row in
                guard let known = row else { return (false, (ActionResult.refused(.noLicense), false)) }
                let outcome = evaluation.perform(use.action, try known.record(keys), needsOpenOutput: use.needsOpenOutput)
                guard outcome.result.isGranted, let after = outcome.record else { return (false, (outcome.result, false)) }
                row?.take(after)
                return (true, (outcome.result, known.firstPlay == nil))
            }
        }
        guard result.isGranted else { throw Self.denied(result) }
        return isFirst
    }

    /// Checks an action again, against the current license.
    ///
    /// - Parameters:
    ///   - id: the license.
    ///   - use: the action.
    ///   - isUnderWay: whether it has begun and was counted.
    /// - Returns: the decision.
    /// - Throws: `player.store`, `player.store-damaged`.
    func recheck(_ id: String, _ use: LicensedUse, isUnderWay: Bool) async throws(PlayerError) -> ActionResult {
        let evaluation = try await evaluation(use.enforced)
        let record: LicenseRecord?
        if let stream = streams[id] {
            record = stream.record
        } else if let row = try await licenses().row(id) {
            record = try await self.record(row)
        } else {
            record = nil
        }
        return evaluation.check(use.action, record, needsOpenOutput: use.needsOpenOutput, isUnderWay: isUnderWay)
    }

    /// Decides an action under one license, without changing anything.
    ///
    /// - Parameters:
    ///   - id: the license.
    ///   - use: the action, and the obligations that the caller enforces.
    /// - Returns: the decision; refused if the license is not in the store.
    /// - Throws: `player.not-personalized`, `player.store`, `player.store-damaged`.
    package func check(license id: String, _ use: LicensedUse) async throws(PlayerError) -> ActionResult {
        try await recheck(id, use, isUnderWay: false)
    }

    /// A key of a license, by the vault's own key.
    func key(_ id: KeyID, of license: License) async throws(PlayerError) -> Secret {
        if try await trust().revocations.keyIDs.contains(id.hex) {
            throw PlayerError(.denied, "the key was revoked")
        }
        let vault = vault
        do {
            return try await license.open(id) { try await vault.agree(withKey: Self.agreementKey, other: $0) }
        } catch let error as VaultError {
            throw Self.failure(error)
        } catch let error as RightsError {
            throw PlayerError(.denied, error.message)
        } catch {
            throw PlayerError(.vault, "the vault does not open the content's key")
        }
    }

    private func records(for contentID: String) async throws(PlayerError) -> [(id: String, record: LicenseRecord)] {
        var found = streams.filter { LicenseRow.contentIDs($0.value.record.license).contains(contentID) }.map {
            (id: $0.key, record: $0.value.record, priority: $0.value.priority)
        }
        for row in try await licenses().rows(contentIDs: [contentID]) {
            found.append((row.id, try await record(row), row.priority))
        }
        return found.sorted { $0.priority > $1.priority }.map { ($0.id, $0.record) }
    }

    /// An evaluation at this moment.
    private func evaluation(_ enforced: Set<String>) async throws(PlayerError) -> Evaluation {
        let (trust, reading) = (try await trust(), try await judgingTime())
        var capabilities = capabilities
        capabilities.obligations.formUnion(enforced)
        return Evaluation(
            player: trust.player,
            serial: trust.serial,
            host: capabilities,
            time: reading,
            revocations: trust.revocations
        )
    }

    static func denied(_ result: ActionResult) -> PlayerError {
        let words = result.reason == .noLicense ? "this device has no license for it" : result.refusalWords
        return PlayerError(.denied, "\(words) (\(result.reason?.rawValue ?? "no reason"))", reason: result.reason)
    }
}

extension ActionResult {
    /// Why a license in use does not allow an action, in words.
    package var refusalWords: String {
        switch reason {
        case .noLicense: "the license was removed"
        case .notYetValid: "the license is not valid yet"
        case .expiredStorage, .expiredPlayback: "the license has ended"
        case .countExhausted: "the license was used as often as it allows"
        case .deviceMismatch: "the license is for another device"
        case .revoked: "the license was revoked"
        case .clockRollback: "the clock of this device was set back"
        case .unsupportedObligation: "the license demands something that this program does not do"
        case .concurrency: "too many streams are playing"
        case .outputNotAllowed: "the license does not allow this output"
        case nil: "the key was revoked"
        }
    }
}
