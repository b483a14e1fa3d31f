import CarrelThreads

/// The segments that players of a session will ask for next, opened before they do: one of each rendition.
///
/// An open segment is a request at the origin with its first bytes. The origin waits until the player takes more.
final class SegmentsAhead: Sendable {
    private struct Entry: Sendable {
        var name: SegmentName
        var task: Task<ServedMedia, any Error>
        var opened: ContinuousClock.Instant
    }

    private struct State {
        var entries: [RenditionName: Entry] = [:]
        var isEnded = false
    }

    private let state = Locked(State())

    /// Renditions of a session: pictures, audio, and what the player changes to.
    private static let limit = 4
    /// An origin ends a request of which nobody takes anything. After this a new one is safer.
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
            let entry = Entry(name: next, task: Task { try await presentation.open(next) }, opened: .now)
            let dropped = state.withLock { state -> [Entry] in
                guard !state.isEnded else { return [entry] }
                var dropped: [Entry] = []
                if let known = state.entries[name.rendition] { dropped.append(known) }
                state.entries[name.rendition] = entry
                if state.entries.count > Self.limit, let oldest = state.entries.min(by: { $0.value.opened < $1.value.opened }) {
                    dropped.append(oldest.value)
                    state.entries[oldest.key] = nil
                }
                return dropped
            }
            for entry in dropped { entry.task.cancel() }
            try await Task.sleep(for: Self.age)
            drop(entry)
        }
    }

    private func drop(_ old: Entry) {
        let dropped = state.withLock { state in
            state.entries[old.name.rendition]?.task == old.task ? state.entries.removeValue(forKey: old.name.rendition) : nil
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
