// SPDX-License-Identifier: Apache-2.0

import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelSavedMedia
import CarrelThreads

/// Plans the download of one media file: consecutive parts, which are requested by ranges.
struct FilePlanner {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    private let parameters: MediaSourceParameters
    /// The first bytes of the file.
    private let head: [UInt8]

    /// Bytes of one piece.
    private static let pieceLength: Int64 = 4 << 20

    init(_ origin: MediaOrigin, _ threads: SessionThreads, _ parameters: MediaSourceParameters, _ head: [UInt8]) {
        self.origin = origin
        self.threads = threads
        self.parameters = parameters
        self.head = head
    }

    func plan() async throws -> MediaPlan {
        var builder = PlanBuilder(SavedSource(address: origin.address, form: .file))
        let name = MediaOrigin.shown(origin.address)
        let reader = try await origin.reader()
        guard 1...SavedLimits.rangeEnd ~= reader.length else {
            throw ProxyError(.manifest, "\(name) has \(reader.length) bytes, which cannot be saved")
        }
        let (file, ownDuration) = try await threads.run {
            do { return (try MediaFile(reader), Self.duration(reader)) } catch { throw ProxyError(error, in: name) }
        }
        guard file.container != .other, file.container != .playlist else {
            throw ProxyError(.unsupported, "\(name) is of no kind that the proxy serves")
        }
        for protection in file.protections { builder.add(protection) }
        // a session begins with the content of a DCF, which its address does not tell offline
        if file.container == .dcf { builder.update { $0.source.contentType = "application/vnd.oma.drm.dcf" } }
        if file.container == .transportStream {
            if ScrambledSegment.isScrambled(head) { _ = try ScrambledKeys.add(head, to: &builder) }
        } else {
            try await addKeys(of: file, reader, to: &builder)
        }
        if let address = parameters.indexURL {
            let resolved = origin.resolve(address)
            _ = try await origin.load(resolved, limit: ScrambledIndex.lengthLimit)
            builder.update { $0.source.indexAddress = resolved }
        }
        let duration = parameters.durationSeconds.map { Duration.seconds($0) } ?? ownDuration
        let isEncrypted = builder.plan.isProtected
        let count = (reader.length + Self.pieceLength - 1) / Self.pieceLength
        guard count <= SavedLimits.pieces else {
            throw ProxyError(.manifest, "\(name) has \(reader.length) bytes, which cannot be saved")
        }
        let share = (duration ?? .zero) / max(1, Double(reader.length))
        let pieces = (0..<count).map { number in
            let range = number * Self.pieceLength..<min((number + 1) * Self.pieceLength, reader.length)
            return SavedPiece(
                address: origin.address,
                range: range,
                duration: share * Double(range.count),
                start: share * Double(range.lowerBound),
                isEncrypted: isEncrypted
            )
        }
        let bandwidth = duration.map { $0 > .zero ? Int(Double(reader.length) * 8 / ($0 / .seconds(1))) : 0 } ?? 0
        try builder.add(SavedStream(kind: .video, bandwidth: bandwidth, isWhole: true, pieces: pieces))
        builder.update { plan in
            plan.duration = duration
            plan.choices.variants = [MediaChoices.Variant(bandwidth: bandwidth)]
        }
        builder.finish()
        return builder.plan
    }

    /// Adds the keys of a file: by the names that its player requests them by, and by the ids of its fragments.
    private func addKeys(
        of file: MediaFile,
        _ reader: any ByteReader & Sendable,
        to builder: inout PlanBuilder
    ) async throws(ProxyError) {
        let scheme = file.protections.lazy.compactMap { if case .commonEncryption(let scheme) = $0 { scheme } else { nil } }.first
        let requests = RequestedKeys()
        if file.container == .mp4, !file.protections.isEmpty {
            // no key is known here, so that every track lacks its key
            try? await threads.runTask {
                _ = try await FileProtection(MP4File(reader, leavesFragmentsToIndex: true), from: requests, leavesOut: true)
            }
        }
        for names in requests.names {
            let known = names.filter { if case .id(let id) = $0 { !id.allSatisfy { $0 == 0 } } else { true } }
            try builder.add(PlannedKey(known, method: scheme))
        }
        for content in file.contentIDs { try builder.add(PlannedKey([.content(content)], method: scheme)) }
        for id in file.keys where !id.isZero { try builder.add(PlannedKey([.id(id.bytes)], method: scheme)) }
    }

    /// The duration by the headers of the tracks of an MP4 file; nil if unknown.
    private static func duration(_ reader: any ByteReader) -> Duration? {
        guard let file = try? MP4File(reader, leavesFragmentsToIndex: true) else { return nil }
        let seconds = file.tracks.lazy.filter { $0.timescale > 0 && $0.declaredDuration > 0 }
            .map { Double($0.declaredDuration) / Double($0.timescale) }.max()
        return seconds.flatMap { $0 < 1e7 ? .seconds($0) : nil }
    }
}

/// A source without keys, which records the names of the requested keys.
private final class RequestedKeys: ContentKeySource {
    private let list = Locked<[[ContentKeyName]]>([])

    /// The names of each requested key.
    var names: [[ContentKeyName]] { list.withLock { $0 } }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        list.withLock { $0.append(names) }
        return (.unknown, nil)
    }
}
