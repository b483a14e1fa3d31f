import CarrelBytes
import CarrelRights

/// The license of a stream, which is in no store.
struct HeldStream: Sendable {
    var record: LicenseRecord
    let priority: Int
    /// Sessions that play it.
    var uses = 0

    init(_ license: License, priority: Int) {
        record = LicenseRecord(license)
        self.priority = priority
    }

    /// Takes a later answer for the same license: what happened here stays.
    mutating func take(_ license: License) {
        let known = record
        record = LicenseRecord(license)
        (record.firstPlay, record.plays) = (known.firstPlay, known.plays)
        record.leaseRenewedAt = license.signedAt
    }
}

extension PlayerEngine {
    /// Streams that are held at most; the oldest is dropped.
    private static var streamLimit: Int { 64 }

    /// Holds a stream's license while the app runs.
    func hold(_ license: License, priority: Int = 0) async throws(PlayerError) {
        if streams[license.id] != nil {
            streams[license.id]?.take(license)
        } else {
            let oldest = streams.min { $0.value.record.license.signedAt < $1.value.record.license.signedAt }
            if streams.count >= Self.streamLimit, let oldest { streams[oldest.key] = nil }
            streams[license.id] = HeldStream(license, priority: priority)
        }
        try await meetRevocations(of: license)
    }

    /// Renews the lease of a stream.
    ///
    /// - Throws: `player.ended` where the service takes it up no more; the stream is over then.
    func renewStream(_ id: String) async throws(PlayerError) {
        guard let known = streams[id]?.record else { throw PlayerError(.ended, "the stream is over") }
        do throws(PlayerError) {
            let (license, _) = try await exchange(.renew, contentID: known.license.contentID) {
                ($0.license, $0.sequence, $0.plays) = (id, known.license.sequence, known.plays)
            }
            guard license.id == id else { throw PlayerError(.rejected, "the service answered with another license") }
            streams[id]?.take(license)
        } catch {
            if error.code == .ended { streams[id] = nil }
            throw error
        }
    }

    /// Gives the slots of all streams back.
    public func endStreams() async {
        for id in streams.keys { await giveBack(id) }
    }

    /// Ends one use of a license; with its last use, a stream's slot is given back.
    func endUse(of id: String) async {
        guard let uses = streams[id]?.uses else { return }
        streams[id]?.uses = uses - 1
        if uses <= 1 { await giveBack(id) }
    }

    /// Gives a stream's slot back. Where the service cannot be reached, the lease ends by itself.
    private func giveBack(_ id: String) async {
        guard let known = streams.removeValue(forKey: id)?.record else { return }
        _ = try? await exchange(.release, contentID: known.license.contentID) {
            ($0.license, $0.sequence, $0.plays) = (id, known.license.sequence, known.plays)
        }
    }
}
