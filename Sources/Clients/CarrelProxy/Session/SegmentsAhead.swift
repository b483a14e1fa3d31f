// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelPresentation
import CarrelThreads

/// The open segments of a session that no player reads yet, one per rendition: the next segment, opened before its request, or a
/// segment whose player left before the first byte, kept for its next request.
///
/// An open segment is a stalled request to the origin with its first bytes. The share of all sessions limits their number.
final class SegmentsAhead: Sendable {
    private enum Content: Sendable {
        /// Opened before its request.
        case next(Task<ServedMedia, any Error>)
        /// Left by its player.
        case left(PendingSegment)

        func cancel() {
            switch self {
            case .next(let task): task.cancel()
            case .left(let segment): segment.cancel()
            }
        }
    }

    private struct Entry: Sendable {
        var name: SegmentName
        var content: Content
        var since: ContinuousClock.Instant
        var serial: Int
        var place: PrefetchShare.Place
    }

    /// A segment that requests wait for.
    private struct Pending {
        let segment: PendingSegment
        var requests = 1
    }

    private struct State {
        var entries: [RenditionName: Entry] = [:]
        var pending: [SegmentName: Pending] = [:]
        /// The tasks that look for segments, and drop them when they are old.
        var keepers: [RenditionName: (task: Task<Void, Never>, serial: Int)] = [:]
        var serial = 0
        var isEnded = false
    }

    private let share: PrefetchShare
    private let state = Locked(State())
    private let timer: MonotonicClock

    /// - Parameters:
    ///   - share: of all sessions.
    ///   - timer: measures the age of segments.
    init(_ share: PrefetchShare, _ timer: MonotonicClock = .system) {
        self.share = share
        self.timer = timer
    }

    /// Maximum number of renditions of a session: video, audio, and the player's switches.
    private static let limit = 4
    /// Age limit: an origin may end a stalled request, so a new request is safer after this.
    private static let age = Duration.seconds(20)

    // MARK: - Requests

    /// Opens a segment and makes its first bytes, or takes the open segment.
    ///
    /// If the request ends first, the segment stays open for the next request.
    /// - Parameters:
    ///   - name: the name of the segment.
    ///   - presentation: the presentation with the segment.
    ///   - use: the key use of the response; gets the keys of the segment.
    ///   - clock: the clock by which keys expire.
    /// - Returns: the segment.
    /// - Throws: ``ProxyError``; `CancellationError`.
    func take(
        _ name: SegmentName,
        of presentation: some Presentation,
        _ use: KeyUse,
        _ clock: any WallClock
    ) async throws -> ServedMedia {
        while true {
            let (segment, wasLeft) = claim(name, of: presentation)
            use.join([segment.use])
            do {
                let media = try await segment.wait()
                release(name, segment)
                // nil if a later request has it, or it was not kept
                if let media { return media }
            } catch  where Task.isCancelled {
                let hasKeys = (try? use.check(at: clock.now)) != nil
                leave(name, segment, isKept: hasKeys)
                throw error
            } catch {
                release(name, segment)
                // a kept segment may have failed while no request waited
                if !wasLeft { throw error }
            }
        }
    }

    /// The segment of a name, for one request more.
    private func claim(_ name: SegmentName, of presentation: some Presentation) -> (segment: PendingSegment, wasLeft: Bool) {
        let (segment, wasLeft, dropped) = state.withLock { state -> (PendingSegment, Bool, Entry?) in
            if let pending = state.pending[name] {
                state.pending[name]?.requests += 1
                return (pending.segment, false, nil)
            }
            let entry = state.entries.removeValue(forKey: name.rendition)
            let usable = entry.flatMap { $0.name == name && $0.since + Self.age > timer.now ? $0.content : nil }
            var wasLeft = false
            let segment: PendingSegment
            switch usable {
            case .left(let left): (segment, wasLeft) = (left, true)
            case .next(let task):
                segment = PendingSegment { use in
                    try await Self.take(task, orOpen: { try await presentation.open(name, use) })
                }
            case nil: segment = PendingSegment { use in try await presentation.open(name, use) }
            }
            state.pending[name] = Pending(segment: segment)
            return (segment, wasLeft, usable == nil ? entry : nil)
        }
        dropped?.content.cancel()
        return (segment, wasLeft)
    }

    /// The segment that was opened before its request; a failed one is opened again.
    private static func take(
        _ task: Task<ServedMedia, any Error>,
        orOpen open: () async throws -> ServedMedia
    ) async throws -> ServedMedia {
        try await withTaskCancellationHandler {
            do { return try await task.value } catch {
                try Task.checkCancellation()
                return try await open()
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends the wait for a segment that has come, or failed.
    private func release(_ name: SegmentName, _ segment: PendingSegment) {
        state.withLock { state in
            if state.pending[name]?.segment === segment { state.pending[name] = nil }
        }
    }

    /// Ends the wait for a segment whose request ended first; the last waiter leaves it for the next request.
    private func leave(_ name: SegmentName, _ segment: PendingSegment, isKept: Bool) {
        let dropped = state.withLock { state -> [Content]? in
            guard let pending = state.pending[name], pending.segment === segment else { return nil }
            guard pending.requests == 1 else {
                state.pending[name]?.requests -= 1
                return nil
            }
            state.pending[name] = nil
            guard isKept, !state.isEnded else { return [.left(segment)] }
            state.serial += 1
            let (dropped, hasPlace) = insert(name, state.serial, into: &state) { .left(segment) }
            return hasPlace ? dropped : dropped + [.left(segment)]
        }
        guard let dropped else { return }
        for content in dropped { content.cancel() }
        keep(name.rendition) { _ in }
    }

    // MARK: - The next segment

    /// Prefetches the segment after another.
    func open(after name: SegmentName, of presentation: some Presentation) {
        keep(name.rendition) { serial in
            if let next = await presentation.next(after: name), !Task.isCancelled { self.begin(next, presentation, serial) }
        }
    }

    /// Nothing but the state holds the entry, because a task holds its result: an open request.
    private func begin(_ name: SegmentName, _ presentation: some Presentation, _ serial: Int) {
        let dropped = state.withLock { state -> [Content] in
            // keep a segment that was opened for a later request
            guard !state.isEnded, state.entries[name.rendition].map({ $0.serial < serial }) ?? true else { return [] }
            return insert(name, serial, into: &state) {
                let task = Task {
                    // the keys of this segment do not concern the response before it
                    let use = KeyUse()
                    var media = try await presentation.open(name, use)
                    media.uses.append(use)
                    return media
                }
                return .next(task)
            }.dropped
        }
        for content in dropped { content.cancel() }
    }

    // MARK: - Entries

    /// Keeps a segment if there is room for it.
    ///
    /// - Returns: the evicted segments.
    private func insert(
        _ name: SegmentName,
        _ serial: Int,
        into state: inout State,
        _ content: () -> Content
    ) -> (dropped: [Content], hasPlace: Bool) {
        var dropped: [Content] = []
        let replaced = state.entries.removeValue(forKey: name.rendition)
        if let replaced { dropped.append(replaced.content) }
        guard let place = share.take() ?? replaced?.place else { return (dropped, false) }
        state.entries[name.rendition] = Entry(name: name, content: content(), since: timer.now, serial: serial, place: place)
        if state.entries.count > Self.limit, let oldest = state.entries.values.min(by: { $0.serial < $1.serial }) {
            dropped.append(oldest.content)
            state.entries[oldest.name.rendition] = nil
        }
        return (dropped, true)
    }

    /// Does something for a rendition, and drops its segment when that is old.
    private func keep(_ rendition: RenditionName, _ body: @escaping @Sendable (_ serial: Int) async -> Void) {
        let replaced = state.withLock { state -> Task<Void, Never>? in
            guard !state.isEnded else { return nil }
            state.serial += 1
            let serial = state.serial
            let task = Task {
                await body(serial)
                try? await self.timer.sleep(for: Self.age)
                self.drop(rendition, serial)
            }
            return state.keepers.updateValue((task, serial), forKey: rendition)?.task
        }
        replaced?.cancel()
    }

    /// Drops a segment that was opened before a time.
    private func drop(_ rendition: RenditionName, _ serial: Int) {
        let dropped = state.withLock { state in
            if state.keepers[rendition]?.serial == serial { state.keepers[rendition] = nil }
            return state.entries[rendition].map { $0.serial <= serial } == true
                ? state.entries.removeValue(forKey: rendition) : nil
        }
        dropped?.content.cancel()
    }

    /// The segments that are open, and the tasks that look for more.
    var count: Int { state.withLock { $0.entries.count + $0.keepers.count } }

    /// Drops all, and opens no more.
    func end() {
        let (entries, pending, keepers) = state.withLock { state in
            state.isEnded = true
            defer { (state.entries, state.pending, state.keepers) = ([:], [:], [:]) }
            return (Array(state.entries.values), Array(state.pending.values), Array(state.keepers.values))
        }
        for entry in entries { entry.content.cancel() }
        for pending in pending { pending.segment.cancel() }
        for keeper in keepers { keeper.task.cancel() }
    }
}
