// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights
import CarrelThreads

/// The licenses of one opened publication: opening counts nothing, the first read of content under a license counts one use of it.
///
/// A publication in a DCF has one license, and a container one for each content of its protected entries.
final class LicenseAccess: Sendable {
    private struct State {
        /// Licenses in use.
        var uses: [LicenseUse] = []
        /// The licenses of opened entries.
        var entries: [ResourcePath: LicenseUse] = [:]
        /// The names of their keys.
        var names: [ResourcePath: [ContentKeyName]] = [:]
        /// The licenses whose use was counted.
        var counted: Set<String> = []
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

    /// Licenses in use that last.
    var lastingUses: [LicenseUse] { uses.filter { reason($0) == nil } }

    /// The license of an entry that was opened; nil before, and for a clear one.
    ///
    /// - Parameter entry: the entry; nil for the publication in a DCF, which has one license.
    /// - Returns: the license in use, or nil.
    func use(of entry: ResourcePath?) -> LicenseUse? {
        state.withLock { state in
            guard let entry else { return state.uses.first }
            return state.entries[entry]
        }
    }

    /// The conditions of all licenses in use together.
    var conditions: ReadingConditions { ReadingConditions(uses.flatMap { $0.obligations }) }

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
    ///
    /// - Parameters:
    ///   - text: the license or the token.
    ///   - isFromFile: whether the file, and not the reader, named it: it is then redeemed at the device's own service alone.
    /// - Throws: the errors of the player.
    func add(_ text: String, isFromFile: Bool) async throws(PlayerError) {
        if isFromFile { try await keys.add(inFile: text) } else { try await keys.add(text) }
    }

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - entry: the entry that it is; nil for the publication itself.
    /// - Returns: its clear bytes.
    /// - Throws: the errors of `MediaStream.open`.
    func open(_ file: ProtectedFile, at entry: ResourcePath? = nil) async throws -> MediaStream {
        if file.isEncrypted {
            do throws(PlayerError) {
                let use = try await license(of: file)
                if let entry, let use {
                    state.withLock { state in
                        state.entries[entry] = use
                        state.names[entry] = file.names
                    }
                }
            } catch {
                throw MediaError(error.code == .denied ? .refusedKey : .unavailable, error.message)
            }
        } else if file.object.headers.contentID.hasPrefix("urn:carrel:title:") {
            throw MediaError(.altered, "the file of a title is not encrypted: it was changed")
        }
        return try await MediaStream.open(file.object, of: file.source, keys: keys, clock: clock)
    }

    /// Takes another license for an entry whose license has ended, if there is one now. Resources that were opened under the former
    /// one stay closed.
    ///
    /// - Parameter entry: an entry that was opened.
    func replaceEnded(at entry: ResourcePath) async {
        let (ended, names) = state.withLock { ($0.entries[entry], $0.names[entry] ?? []) }
        guard let ended, reason(ended) != nil else { return }
        for name in names {
            guard let use = try? await keys.license(for: name), reason(use) == nil else { continue }
            return state.withLock { state in
                state.entries[entry] = use
                // its conditions end with the last entry under it
                if !state.entries.values.contains(where: { $0 === ended }) { state.uses.removeAll { $0 === ended } }
                if !state.uses.contains(where: { $0 === use }) { state.uses.append(use) }
            }
        }
    }

    /// Counts the use of a license, once. The count is on the disk before this returns.
    ///
    /// - Parameter entry: an opened entry; nil for the publication in a DCF. Nothing is counted for a clear entry.
    /// - Throws: `resource.forbidden` if the license does not allow it any more; `resource.unavailable` if it cannot be counted.
    func begin(_ entry: ResourcePath?) async throws(ResourceError) {
        guard let use = use(of: entry), !state.withLock({ $0.counted.contains(use.license) }) else { return }
        do throws(PlayerError) { try await use.begin() } catch {
            throw ResourceError(error.code == .store ? .unavailable : .forbidden, error.message)
        }
        state.withLock { _ = $0.counted.insert(use.license) }
    }

    /// Why all licenses in use have ended; nil while one lasts.
    var endReason: String? {
        var first: String?
        for use in uses {
            guard let reason = reason(use) else { return nil }
            first = first ?? reason
        }
        return first
    }

    /// Why an entry cannot be read any more: its license or all licenses have ended; nil while it lasts.
    ///
    /// - Parameter entry: the entry; nil for the publication in a DCF.
    /// - Returns: the reason, or nil.
    func endReason(of entry: ResourcePath?) -> String? { use(of: entry).flatMap(reason) ?? endReason }

    private func reason(_ use: LicenseUse) -> String? {
        if let refusal = use.end.refusal { return refusal }
        guard let end = use.end.instant, end <= clock.now else { return nil }
        return "the license has ended"
    }

    /// Checks that the license of an entry lasts.
    ///
    /// - Parameter entry: the entry; nil for the publication in a DCF.
    /// - Throws: `resource.forbidden` with the reason.
    func checkAccess(of entry: ResourcePath?) throws(ResourceError) {
        if let reason = endReason(of: entry) { throw ResourceError(.forbidden, reason) }
    }

    /// Ends the use.
    func end() async { await keys.end() }
}
