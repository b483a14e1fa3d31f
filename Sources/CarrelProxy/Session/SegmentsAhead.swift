import CarrelThreads

/// The segments that players of a session will ask for next, opened before they do: one of each rendition.
///
/// An open segment is a request at the origin with its first bytes. The origin waits until the player takes more. There are as many as the
/// share of all sessions has room for.
final class SegmentsAhead: Sendable {
    private struct Entry: Sendable {
        var name: SegmentName
        var task: Task<ServedMedia, any Error>
        var opened: ContinuousClock.Instant
        var serial: Int
        var place: PrefetchShare.Place
    }

    private struct State {
        var entries: [RenditionName: Entry] = [:]
        /// The tasks that look for segments, and drop them when they are old.
        var keepers: [RenditionName: (task: Task<Void, Never>, serial: Int)] = [:]
        var serial = 0
        var isEnded = false
    }

    private let share: PrefetchShare
    private let state = Locked(State())

    init(_ share: PrefetchShare) {
        self.share = share
    }

    /// Renditions of a session: pictures, audio, and what the player changes to.
    private static let limit = 4
    /// An origin ends a request whose bytes are not taken. After this a new one is safer.
    private static let age = Duration.seconds(20)

    /// Opens a segment, or takes the one that is open.
    ///
    /// - Parameters:
    ///   - name: of the segment.
    ///   - presentation: has it.
    /// - Returns: the segment.
    /// - Throws: ``ProxyError``.
    func take(_ name: SegmentName, of presentation: some Presentation) async throws -> ServedMedia {
        let entry = state.withLock { $0.entries.removeValue(forKey: name.rendition) }
        guard let entry, entry.name == name, entry.opened + Self.age > .now else {
            entry?.task.cancel()
            return try await presentation.open(name)
        }
        return try await withTaskCancellationHandler {
            do { return try await entry.task.value } catch {
                try Task.checkCancellation()
                return try await presentation.open(name)
            }
        } onCancel: {
            entry.task.cancel()
        }
    }

    /// Opens the segment behind another.
    func open(after name: SegmentName, of presentation: some Presentation) {
        let replaced = state.withLock { state -> Task<Void, Never>? in
            guard !state.isEnded else { return nil }
            state.serial += 1
            let serial = state.serial
            let task = Task { await self.keep(after: name, of: presentation, serial) }
            return state.keepers.updateValue((task, serial), forKey: name.rendition)?.task
        }
        replaced?.cancel()
    }

    /// Opens the segment behind another, and drops it when it is old.
    private func keep(after name: SegmentName, of presentation: some Presentation, _ serial: Int) async {
        if let next = await presentation.next(after: name), !Task.isCancelled {
            begin(next, presentation, serial)
            try? await Task.sleep(for: Self.age)
            drop(name.rendition, serial)
        }
        state.withLock { state in
            if state.keepers[name.rendition]?.serial == serial { state.keepers[name.rendition] = nil }
        }
    }

    /// The segments that are open, and the tasks that look for more.
    var count: Int { state.withLock { $0.entries.count + $0.keepers.count } }

    /// Nothing but the state holds the entry, because a task holds its result: an open request.
    private func begin(_ name: SegmentName, _ presentation: some Presentation, _ serial: Int) {
        let dropped = state.withLock { state -> [Entry] in
            // one that was opened for a later request stays
            guard !state.isEnded, state.entries[name.rendition].map({ $0.serial < serial }) ?? true else { return [] }
            var dropped: [Entry] = []
            if let known = state.entries.removeValue(forKey: name.rendition) { dropped.append(known) }
            guard let place = share.take() ?? dropped.first?.place else { return dropped }
            let entry = Entry(
                name: name,
                task: Task {
                    // the keys of this segment do not concern the response before it
                    let use = KeyUse()
                    var media = try await KeyUse.$current.withValue(use) { try await presentation.open(name) }
                    media.uses.append(use)
                    return media
                },
                opened: .now,
                serial: serial,
                place: place
            )
            state.entries[name.rendition] = entry
            if state.entries.count > Self.limit, let oldest = state.entries.values.min(by: { $0.serial < $1.serial }) {
                dropped.append(oldest)
                state.entries[oldest.name.rendition] = nil
            }
            return dropped
        }
        for entry in dropped { entry.task.cancel() }
    }

    private func drop(_ rendition: RenditionName, _ serial: Int) {
        let dropped = state.withLock { state in
            state.entries[rendition]?.serial == serial ? state.entries.removeValue(forKey: rendition) : nil
        }
        dropped?.task.cancel()
    }

    /// Drops all, and opens no more.
    func end() {
        let (entries, keepers) = state.withLock { state in
            state.isEnded = true
            defer { (state.entries, state.keepers) = ([:], [:]) }
            return (state.entries.values, state.keepers.values)
        }
        for entry in entries { entry.task.cancel() }
        for keeper in keepers { keeper.task.cancel() }
    }
}
