// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia

/// Collects the streams and keys of a plan, within the limits of a package.
struct PlanBuilder: Sendable {
    private(set) var plan: MediaPlan
    private var keys: [ContentKeyName: Int] = [:]
    private var pieceCount = 0

    /// Keys of a source.
    private static let keyLimit = 65_536

    init(_ source: SavedSource) {
        plan = MediaPlan(source: source)
    }

    /// Sets the source's facts.
    mutating func update(_ body: (inout MediaPlan) -> Void) { body(&plan) }

    /// Adds a stream, unless it has no pieces.
    ///
    /// - Throws: `proxy.manifest` if there are too many pieces or streams.
    mutating func add(_ stream: SavedStream) throws(ProxyError) {
        guard !stream.pieces.isEmpty else { return }
        pieceCount += stream.pieces.count
        guard pieceCount <= SavedLimits.pieces else {
            throw ProxyError(.manifest, "the source has more than \(SavedLimits.pieces) segments, which is more than can be saved")
        }
        guard plan.streams.count < SavedLimits.streams else {
            throw ProxyError(.manifest, "more than \(SavedLimits.streams) tracks are selected, which is more than can be saved")
        }
        plan.streams.append(stream)
    }

    /// Adds a key. A key that is known by one of its names gets the others.
    ///
    /// - Throws: `proxy.manifest` if there are too many.
    mutating func add(_ key: PlannedKey) throws(ProxyError) {
        // track numbers are unique in one file only
        let names = key.names.filter { if case .track = $0 { false } else { true } }
        if let known = names.first(where: { keys[$0] != nil }), let place = keys[known] {
            for name in names where !plan.keys[place].names.contains(name) {
                plan.keys[place].names.append(name)
                keys[name] = place
            }
            for url in key.licenseURLs where !plan.keys[place].licenseURLs.contains(url) {
                plan.keys[place].licenseURLs.append(url)
            }
            return
        }
        guard !names.isEmpty || !plan.keys.contains(key) else { return }
        guard plan.keys.count < Self.keyLimit else {
            throw ProxyError(.manifest, "the source has more than \(Self.keyLimit) keys")
        }
        for name in names { keys[name] = plan.keys.count }
        plan.keys.append(key)
    }

    mutating func add(_ protection: MediaProtection) {
        if !plan.protections.contains(protection) { plan.protections.append(protection) }
    }

    /// Estimates the bytes of all pieces: by their ranges, otherwise by their durations and the bit rates.
    mutating func estimate() {
        var bytes: Int64 = 0
        for stream in plan.streams {
            var rest = Duration.zero
            for piece in stream.pieces {
                if let range = piece.range { bytes += Int64(range.count) } else { rest += piece.duration }
            }
            guard rest > .zero else { continue }
            guard stream.bandwidth > 0 else { return plan.expectedBytes = nil }
            bytes += Int64(min(Double(stream.bandwidth) / 8 * (rest / .seconds(1)), 1e15))
        }
        plan.expectedBytes = bytes
    }
}
