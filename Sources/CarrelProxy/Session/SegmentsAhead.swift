import CarrelThreads

/// The segments that players of a session will ask for next, opened before they do: one of each rendition.
///
/// An open segment is a request at the origin with its first bytes. The origin waits until the player takes more.
final class SegmentsAhead: Sendable {
    private struct Entry: Sendable {
        var name: SegmentName
        var task: Task<ServedMedia, any Error>
        var opened: ContinuousClock.Instant
        var serial: Int
    }

    private struct State {
        var entries: [RenditionName: Entry] = [:]
        var serial = 0
        var isEnded = false
    }

    private let state = Locked(State())

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
        Task {
            guard let next = await presentation.next(after: name) else { return }
            let serial = begin(next, presentation)
            try await Task.sleep(for: Self.age)
            drop(name.rendition, serial)
        }
    }

    /// - Returns: the number of the entry. Nothing but the state holds the entry, because a task holds its result: an open request.
    private func begin(_ name: SegmentName, _ presentation: some Presentation) -> Int {
        let (serial, dropped) = state.withLock { state -> (Int, [Entry]) in
            state.serial += 1
            guard !state.isEnded else { return (state.serial, []) }
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
                serial: state.serial
            )
            var dropped: [Entry] = []
            if let known = state.entries.updateValue(entry, forKey: name.rendition) { dropped.append(known) }
            if state.entries.count > Self.limit, let oldest = state.entries.values.min(by: { $0.serial < $1.serial }) {
                dropped.append(oldest)
                state.entries[oldest.name.rendition] = nil
            }
            return (state.serial, dropped)
        }
        for entry in dropped { entry.task.cancel() }
        return serial
    }

    private func drop(_ rendition: RenditionName, _ serial: Int) {
        let dropped = state.withLock { state in
            state.entries[rendition]?.serial == serial ? state.entries.removeValue(forKey: rendition) : nil
        }
        dropped?.task.cancel()
    }

    /// Drops all, and opens no more.
    func end() {
        let entries = state.withLock { state in
            state.isEnded = true
            defer { state.entries = [:] }
            return state.entries.values
        }
        for entry in entries { entry.task.cancel() }
    }
}
