// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights
import CarrelThreads

/// The licenses of one opened publication: opening counts nothing, the first read of its content counts one use.
final class LicenseAccess: Sendable {
    private struct State {
        /// Licenses in use.
        var uses: [LicenseUse] = []
        var hasBegun = false
    }

    let engine: PlayerEngine
    let clock: any WallClock
    private let keys: LicenseKeys
    private let state = Locked(State())

    /// - Parameters:
    ///   - engine: the player.
    ///   - enforced: obligations that the app enforces.
    ///   - clock: the clock by which keys end.
    init(_ engine: PlayerEngine, enforced: Set<String>, clock: any WallClock) {
        var settings = LicenseKeys.Settings()
        settings.action = .read
        settings.needsOpenOutput = true
        settings.enforced = enforced
        settings.countsWithFirstKey = false
        self.engine = engine
        self.clock = clock
        keys = LicenseKeys(engine, settings)
    }

    /// Licenses in use, in the order in which they were opened.
    var uses: [LicenseUse] { state.withLock { $0.uses } }

    /// The license of a file, evaluated without counting; nil if there is none.
    ///
    /// - Parameter file: the file.
    /// - Returns: the license in use, or nil.
    /// - Throws: `player.denied` with the reason; `player.store`, `player.vault`.
    func license(of file: ProtectedFile) async throws(PlayerError) -> LicenseUse? {
        for name in file.names {
            guard let use = try await keys.license(for: name) else { continue }
            state.withLock { state in
                if !state.uses.contains(where: { $0 === use }) { state.uses.append(use) }
            }
            return use
        }
        return nil
    }

    /// Stores a license: signed, or by redeeming a token.
    func add(_ text: String) async throws(PlayerError) { try await keys.add(text) }

    /// Opens a file.
    ///
    /// - Parameter file: the file.
    /// - Returns: its clear bytes.
    /// - Throws: the errors of `MediaStream.open`.
    func open(_ file: ProtectedFile) async throws -> MediaStream {
        if file.isEncrypted {
            do throws(PlayerError) { _ = try await license(of: file) } catch {
                throw MediaError(error.code == .denied ? .refusedKey : .unavailable, error.message)
            }
        } else if file.object.headers.contentID.hasPrefix("urn:carrel:title:") {
            throw MediaError(.altered, "the file of a title is not encrypted: it was changed")
        }
        return try await MediaStream.open(file.object, of: file.source, keys: keys, clock: clock)
    }

    /// Counts the use, once. The count is on the disk before this returns.
    ///
    /// - Throws: `resource.forbidden` if the license does not allow it any more; `resource.unavailable` if it cannot be counted.
    func begin() async throws(ResourceError) {
        if state.withLock({ $0.hasBegun }) { return }
        do throws(PlayerError) { try await keys.begin() } catch {
            throw ResourceError(error.code == .store ? .unavailable : .forbidden, error.message)
        }
        state.withLock { $0.hasBegun = true }
    }

    /// Why all licenses in use have ended; nil while one lasts.
    var endReason: String? {
        var reason: String?
        for use in uses {
            if let refusal = use.end.refusal {
                reason = reason ?? refusal
            } else if let end = use.end.instant, end <= clock.now {
                reason = reason ?? "the license has ended"
            } else {
                return nil
            }
        }
        return reason
    }

    /// Checks that a license lasts.
    ///
    /// - Throws: `resource.forbidden` with the reason.
    func checkAccess() throws(ResourceError) {
        if let reason = endReason { throw ResourceError(.forbidden, reason) }
    }

    /// Ends the use.
    func end() async { await keys.end() }
}
