// SPDX-License-Identifier: Apache-2.0

import CarrelMediaPlanning
import CarrelMediaSource
import CarrelSavedMedia

/// The addresses of the pieces of a plan. They may contain tickets that expire: then the playlist is loaded again, and the same
/// positions of the new plan have new addresses.
actor PlanAddresses {
    private var addresses: [SavedPieceName: String] = [:]
    private var generation = 0
    private var loading: Task<MediaPlan, any Error>?
    private let streams: [SavedStream]
    private let source: String
    private let fingerprint: [UInt8]?
    private let longestPause: Duration
    private var lastRefresh: ContinuousClock.Instant?
    private let load: @Sendable () async throws -> MediaPlan

    /// - Parameters:
    ///   - streams: the streams of the package.
    ///   - fingerprint: of the plan; nil if it is not known.
    ///   - source: the source, as errors show it.
    ///   - pause: the longest pause between two loads.
    ///   - load: plans the source again.
    init(
        _ streams: [SavedStream],
        fingerprint: [UInt8]?,
        source: String,
        pause: Duration,
        load: @escaping @Sendable () async throws -> MediaPlan
    ) {
        self.streams = streams
        self.fingerprint = fingerprint
        longestPause = pause
        self.source = source
        self.load = load
        for (index, stream) in streams.enumerated() {
            for (piece, name) in zip(stream.pieces, stream.names(stream: index)) { addresses[name] = piece.address }
        }
    }

    /// The address of a piece, and the number of the plan that it is from.
    func address(of name: SavedPieceName) -> (address: String, generation: Int) { (addresses[name] ?? "", generation) }

    /// Loads the playlist again, unless that happened since a plan. Callers at the same time share one load.
    ///
    /// - Parameter known: the number of the plan whose address does not work.
    /// - Throws: `download.changed` if the source is another one now; the errors of planning.
    func refresh(after known: Int) async throws {
        guard generation == known else { return }
        let task =
            loading
            ?? Task { [load, pause = pause()] in
                try await Task.sleep(for: pause)
                return try await load()
            }
        loading = task
        let plan: MediaPlan
        do {
            plan = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            loading = nil
            throw error
        }
        loading = nil
        guard generation == known else { return }
        lastRefresh = .now
        try take(plan)
        generation += 1
    }

    /// The time between two loads: a server whose new addresses do not work either is not asked without a pause.
    private func pause() -> Duration {
        guard let lastRefresh else { return .zero }
        return max(.zero, ContinuousClock.now.duration(to: lastRefresh + longestPause * Double.random(in: 0.5...1)))
    }

    private func take(_ plan: MediaPlan) throws(DownloadError) {
        let fresh = plan.streams
        guard fresh.count == streams.count else { throw changed("it has other tracks") }
        var new: [SavedPieceName: String] = [:]
        for (index, (old, stream)) in zip(streams, fresh).enumerated() {
            guard old.kind == stream.kind, old.pieces.count == stream.pieces.count else {
                throw changed(
                    "the \(old.kind) stream \(index) has \(stream.pieces.count) segments instead of \(old.pieces.count)"
                )
            }
            let pieces = Dictionary(uniqueKeysWithValues: zip(old.names(stream: index), old.pieces))
            for (name, piece) in zip(stream.names(stream: index), stream.pieces) {
                guard let known = pieces[name], known.range == piece.range, Self.isSame(known.duration, piece.duration) else {
                    throw changed("segment \(name.number) of the \(old.kind) stream \(index) is another one")
                }
                new[name] = piece.address
            }
        }
        guard fingerprint == nil || PlanFingerprint.of(plan) == fingerprint else {
            throw changed("its keys, its initialization segments or its tags are others")
        }
        addresses = new
    }

    private func changed(_ what: String) -> DownloadError {
        DownloadError(.changed, "\(source) has changed since the download began: \(what)")
    }

    /// Tables have milliseconds.
    private static func isSame(_ one: Duration, _ other: Duration) -> Bool {
        let difference = one - other
        return difference < .milliseconds(2) && difference > .milliseconds(-2)
    }
}
