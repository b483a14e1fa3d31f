// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia

/// Collects the streams and keys of a plan, within the limits of a package.
struct PlanBuilder: Sendable {
    private(set) var plan: MediaPlan
    private var keys: [ContentKeyName: Int] = [:]
    private var pieceCount = 0
    private var addressBytes = 0

    /// Keys of a source.
    private static let keyLimit = 65_536

    init(_ source: SavedSource) {
        plan = MediaPlan(source: source)
    }

    /// Sets the source's facts.
    mutating func update(_ body: (inout MediaPlan) -> Void) { body(&plan) }

    /// Bytes that the addresses of more pieces may have.
    var addressRoom: Int { SavedLimits.totalAddressBytes - addressBytes }

    static let longAddresses = ProxyError(
        .manifest,
        "the addresses of the segments have more than \(SavedLimits.totalAddressBytes) bytes, which is more than can be saved"
    )

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
        addressBytes += stream.pieces.reduce(0) { $0 + $1.address.utf8.count }
        guard addressRoom >= 0 else { throw Self.longAddresses }
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

    /// Completes the plan: estimates the bytes of all pieces by their ranges, otherwise by their durations and the bit rates.
    ///
    /// The bit rate of an HLS variant includes its renditions (RFC 8216 §4.3.4.2), whose own is not known.
    mutating func finish() {
        var bytes = 0.0
        var isKnown = false
        for stream in plan.streams {
            var rest = Duration.zero
            for piece in stream.pieces {
                if let range = piece.range {
                    bytes += Double(range.count)
                    isKnown = true
                } else {
                    rest += piece.duration
                }
            }
            guard rest > .zero, stream.bandwidth > 0 else { continue }
            bytes += Double(stream.bandwidth) / 8 * (rest / .seconds(1))
            isKnown = true
        }
        plan.expectedBytes = isKnown ? Int64(min(bytes, 1e15)) : nil
    }
}
