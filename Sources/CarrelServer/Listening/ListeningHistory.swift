import CarrelBytes
import CarrelIngest
import CarrelStore

/// What an account has listened to: each title once, where it was last, the most recent first.
struct ListeningHistory: Sendable {
    let database: any Database

    struct Item: Sendable {
        let title: String
        let authors: [String]
        let durationMS: Int64
        let position: Listening.Position
    }

    /// Titles shown at most; the export has all of it.
    private static let limit = 500

    func list(of account: Account) async throws -> [Item] {
        try await database.read { transaction in
            var items: [Item] = []
            for id in try ListeningStore.titles(heardBy: account.id, in: transaction) {
                guard let title = try TitleStore.title(id: id, in: transaction),
                    let position = try ListeningStore.latest(account: account.id, title: id, in: transaction)
                else { continue }
                let metadata = title.metadata
                items.append(
                    Item(
                        title: metadata.title,
                        authors: metadata.authors,
                        durationMS: title.durationMS,
                        position: position
                    )
                )
            }
            return Array(items.sorted { $0.position.lastUpdated > $1.position.lastUpdated }.prefix(Self.limit))
        }
    }
}
