// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights

extension PlayerEngine {
    /// Maximum number of streams kept; the oldest is dropped.
    private static var streamLimit: Int { 64 }

    /// Holds a stream's license while the app runs.
    func hold(_ license: License, priority: Int = 0) async throws(PlayerError) {
        // first, so that a license never waits for the list that it demands
        try await meetRevocations(of: license)
        if streams[license.id] != nil {
            streams[license.id]?.take(license)
        } else {
            let oldest = streams.min { $0.value.record.license.signedAt < $1.value.record.license.signedAt }
            if streams.count >= Self.streamLimit, let oldest { streams[oldest.key] = nil }
            streamCount += 1
            streams[license.id] = HeldStream(license, priority: priority, generation: streamCount)
        }
    }

    /// Renews the lease of a stream.
    ///
    /// - Throws: `player.ended` if the service refuses to renew it; the stream has then ended.
    package func renewStream(_ id: String) async throws(PlayerError) {
        guard let held = streams[id] else { throw PlayerError(.ended, "the stream is over") }
        let known = held.record
        do throws(PlayerError) {
            let (license, _) = try await exchange(.renew, contentID: known.license.contentID) {
                ($0.license, $0.sequence, $0.plays) = (id, known.license.sequence, known.plays)
            }
            guard license.id == id else { throw PlayerError(.rejected, "the service answered with another license") }
            try await meetRevocations(of: license)
            streams[id]?.take(license)
        } catch {
            if error.code == .ended, streams[id]?.generation == held.generation { streams[id] = nil }
            throw error
        }
    }

    /// Gives the slots of all streams back.
    public func endStreams() async {
        for id in streams.keys { await giveBack(id) }
    }

    /// Ends one use of a license; after its last use, a stream's slot is released.
    ///
    /// - Parameters:
    ///   - id: the license ID.
    ///   - generation: the generation of the stream that was used; nil for a stored license. A later stream of the same license
    ///     is not affected.
    func endUse(of id: String, generation: Int?) async {
        guard let held = streams[id], held.generation == generation else { return }
        streams[id]?.uses = held.uses - 1
        if held.uses <= 1 { await giveBack(id) }
    }

    /// Gives the slot of a stream back that no session uses.
    ///
    /// - Parameter id: the license ID; other licenses are not affected.
    package func endUnused(_ id: String) async {
        guard let held = streams[id], held.uses <= 0 else { return }
        await giveBack(id)
    }

    /// Gives a stream's slot back. Where the service cannot be reached, the lease ends by itself.
    private func giveBack(_ id: String) async {
        guard let known = streams.removeValue(forKey: id)?.record else { return }
        _ = try? await exchange(.release, contentID: known.license.contentID) {
            ($0.license, $0.sequence, $0.plays) = (id, known.license.sequence, known.plays)
        }
    }
}
