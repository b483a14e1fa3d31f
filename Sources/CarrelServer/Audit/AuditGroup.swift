import CarrelCrypto
import CarrelStore
import CarrelThreads

/// Records that credentials were handed out or refused, which no change of state goes with: the entries that come while others
/// are written go together, as one row.
final class AuditGroup: Sendable {
    @safe
    private struct Pending {
        var bundle = AuditBundle()
        var waiting: [UnsafeContinuation<Void, any Error>] = unsafe []

        /// Tells all who wait what became of the bundle.
        func end(_ failure: (any Error)?) {
            unsafe waiting.forEach { continuation in
                if let failure {
                    unsafe continuation.resume(throwing: failure)
                } else {
                    unsafe continuation.resume()
                }
            }
        }
    }

    private struct State {
        /// Bundles that are full, and one that is not.
        var pending: [Pending] = []
        var isWriting = false
    }

    private let database: any Database
    private let state = Locked(State())

    init(database: any Database) {
        self.database = database
    }

    /// Returns once the entry, which is about credentials, is durable.
    func record(_ entry: Audit.Entry) async throws {
        unsafe try await withUnsafeThrowingContinuation { continuation in
            let mustStart = state.withLock { state in
                if state.pending.last.map({ $0.bundle.count == AuditBundle.limit }) ?? true { state.pending.append(Pending()) }
                let last = state.pending.count - 1
                state.pending[last].bundle.append(entry)
                unsafe state.pending[last].waiting.append(continuation)
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if mustStart { Task { await self.drain() } }
        }
    }

    private func drain() async {
        while true {
            let pending = state.withLock { state -> [Pending] in
                defer { state.pending = [] }
                state.isWriting = !state.pending.isEmpty
                return state.pending
            }
            guard !pending.isEmpty else { return }
            let rows = pending.map { (id: Random.uuid(at: $0.bundle.at), bundle: $0.bundle) }
            var failure: (any Error)?
            do {
                try await database.write { transaction in
                    for row in rows { try AuditStore.append(row.bundle, id: row.id, in: transaction) }
                }
            } catch {
                failure = error
            }
            for one in pending { one.end(failure) }
        }
    }
}
