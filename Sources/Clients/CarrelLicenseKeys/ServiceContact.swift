// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPlayer
import CarrelRights

/// The contact with the service that a license in use needs: its list of revocations, and renewals.
///
/// A missing network ends nothing, unless the license must be attended.
actor ServiceContact {
    /// Why the license may not be used until the service is reached; nil if it may.
    private(set) var refusal: String?

    private nonisolated let engine: PlayerEngine
    private nonisolated let license: String
    private nonisolated let isStored: Bool
    private var tasks: [Task<Void, Never>] = []
    /// The last contact.
    private var last: ContinuousClock.Instant?
    private var attending: Task<Void, any Error>?

    /// The pause after a failed renewal.
    private static let retryPause = Duration.seconds(30)
    /// The pause after a failed contact of a license that is refused until then.
    private static let attendedPause = Duration.seconds(5)
    /// How often the terms are read while there is nothing to do: another program may renew the license.
    private static let readPause = Duration.seconds(5)

    init(_ engine: PlayerEngine, _ session: LicenseSession) {
        self.engine = engine
        license = session.license
        isStored = session.isStored
    }

    deinit { for task in tasks { task.cancel() } }

    /// Contacts the service, if the license demands contact and there was none in time.
    ///
    /// - Throws: `player.denied` if the service did not answer.
    func attend() async throws(PlayerError) {
        guard let seconds = try await engine.contactTerms(of: license)?.attendedSeconds else { return }
        if let last, ContinuousClock.now - last < .seconds(seconds) { return }
        let task: Task<Void, any Error>
        if let attending {
            task = attending
        } else {
            let (engine, license) = (engine, license)
            task = Task { try await engine.contactService(of: license) }
            attending = task
        }
        defer { if attending == task { attending = nil } }
        do {
            try await task.value
            last = .now
            refusal = nil
        } catch {
            let error = error as? PlayerError
            let reason = "the license is used with contact to its service alone: \(error?.message ?? "there is none")"
            refusal = reason
            throw PlayerError(.denied, reason, serverCode: error?.serverCode, reason: .unsupportedObligation)
        }
    }

    /// Keeps the contact while the license is used.
    func start() {
        guard tasks.isEmpty else { return }
        let (engine, isStored) = (engine, isStored)
        if isStored {
            tasks.append(
                Task {
                    while !Task.isCancelled {
                        let pause = await engine.followRevocations()
                        try? await Task.sleep(for: max(.seconds(1), pause))
                    }
                }
            )
        }
        tasks.append(
            Task { [weak self] in
                while !Task.isCancelled {
                    guard let pause = await self?.step() else { return }
                    do { try await Task.sleep(for: pause) } catch { return }
                }
            }
        )
    }

    func stop() {
        for task in tasks { task.cancel() }
        tasks = []
    }

    /// Does what is due.
    ///
    /// - Returns: the pause before the next step.
    private func step() async -> Duration {
        guard let terms = try? await engine.contactTerms(of: license) else { return Self.readPause }
        if let seconds = terms.attendedSeconds {
            let due = (last ?? .now) + .seconds(seconds)
            if .now < due, refusal == nil { return min(Self.readPause, due - .now) }
            do throws(PlayerError) { try await attend() } catch { return min(Self.attendedPause, .seconds(seconds)) }
            return .seconds(seconds)
        }
        // a stream is renewed by its own heartbeat
        guard isStored, let renewAt = terms.renewAt else { return Self.readPause }
        guard renewAt <= terms.now else { return min(Self.readPause, renewAt - terms.now) }
        do throws(PlayerError) {
            try await engine.contactService(of: license)
        } catch {
            // the service says that it has ended: the list of revocations need not have it
            if error.code == .ended || error.code == .revoked { refusal = error.message }
        }
        return Self.retryPause
    }
}
