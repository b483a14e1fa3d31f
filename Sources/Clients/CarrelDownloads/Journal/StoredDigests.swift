// SPDX-License-Identifier: Apache-2.0

import CarrelSavedMedia
import CarrelThreads

/// The digests of an item's durable files, for playing it while it is being saved.
final class StoredDigests: Sendable {
    private let journal: Journal
    private let id: String
    private let known: Locked<[SavedPieceName: SavedDigest]>

    /// - Parameters:
    ///   - known: the files that are durable now.
    ///   - journal: has those that become durable later.
    ///   - id: the item.
    init(_ known: [SavedPieceName: SavedDigest], _ journal: Journal, _ id: String) {
        self.known = Locked(known)
        self.journal = journal
        self.id = id
    }

    /// The digest of a file; nil if it is not durable yet. Blocks: never on threads that run tasks.
    func digest(of name: SavedPieceName) -> SavedDigest? {
        if let digest = known.withLock({ $0[name] }) { return digest }
        let found = try? BlockingWork.wait { [journal, id] in try await journal.piece(name, of: id) }
        guard let digest = found.flatMap(\.self) else { return nil }
        known.withLock { $0[name] = digest }
        return digest
    }
}
