// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelPresentation
import CarrelThreads

/// A segment that is being opened, until its first bytes for the player are ready.
///
/// It belongs to no request: if a player gives up before the first byte, its next request continues to wait for the same segment.
/// The last waiting request gets it, because an earlier one may come from a player whose departure is not noticed yet.
final class PendingSegment: Sendable {
    private typealias Waiter = CheckedContinuation<ServedMedia?, any Error>

    private struct State {
        var result: Result<ServedMedia, any Error>?
        var hasEnded = false
        var waiters: [Int: Waiter] = [:]
        var serial = 0
    }

    /// Bytes that a segment without a request keeps, at most.
    private static let keptLimit = 1 << 20

    /// The keys that the segment uses.
    let use: KeyUse
    private let state: Locked<State>
    private let task: Task<Void, Never>

    /// Opens a segment.
    ///
    /// - Parameter open: requests it at the origin.
    init(_ open: @escaping @Sendable (KeyUse) async throws -> ServedMedia) {
        let (use, state) = (KeyUse(), Locked(State()))
        (self.use, self.state) = (use, state)
        task = Task {
            let result: Result<ServedMedia, any Error>
            do {
                result = .success(try await Self.begin(open, use))
            } catch {
                result = .failure(error)
            }
            Self.finish(result, state)
        }
    }

    /// Opens a segment and makes its first bytes.
    private static func begin(_ open: (KeyUse) async throws -> ServedMedia, _ use: KeyUse) async throws -> ServedMedia {
        var media = try await open(use)
        media.bytes = BegunBytes(try await media.bytes.next(), media.bytes)
        media.uses.append(use)
        return media
    }

    private static func finish(_ result: Result<ServedMedia, any Error>, _ state: Locked<State>) {
        let (waiters, last) = state.withLock { state in
            defer { state.waiters = [:] }
            state.hasEnded = true
            guard let last = state.waiters.keys.max() else {
                // the first request may not be waiting yet; a large sample is not kept for a request that may never come
                let count = ((try? result.get())?.bytes as? BegunBytes)?.firstCount ?? 0
                state.result = state.serial > 0 && count > keptLimit ? nil : result
                return ([:] as [Int: Waiter], 0)
            }
            return (state.waiters, last)
        }
        for (serial, waiter) in waiters {
            switch result {
            case .success(let media): waiter.resume(returning: serial == last ? media : nil)
            case .failure(let error): waiter.resume(throwing: error)
            }
        }
    }

    /// Waits for the segment.
    ///
    /// - Returns: nil if another request gets it, or it was not kept.
    /// - Throws: the error of the source; `CancellationError` if the request ends first.
    func wait() async throws -> ServedMedia? {
        let serial = state.withLock { state in
            state.serial += 1
            return state.serial
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result: Result<ServedMedia?, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let result = state.result.take() { return result.map(Optional.some) }
                    if state.hasEnded { return .success(nil) }
                    state.waiters[serial] = waiter
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: serial) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the request at the origin.
    func cancel() {
        task.cancel()
        state.withLock { $0.result = nil }
    }
}

/// A segment whose first bytes are ready.
private actor BegunBytes: SegmentBytes {
    nonisolated let firstCount: Int
    private var first: [UInt8]?
    private let rest: any SegmentBytes

    init(_ first: [UInt8]?, _ rest: any SegmentBytes) {
        self.first = first
        self.rest = rest
        firstCount = first?.count ?? 0
    }

    func next() async throws -> [UInt8]? {
        if let first = first.take() { return first }
        return try await rest.next()
    }
}
