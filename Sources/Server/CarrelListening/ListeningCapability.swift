// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelHTTP
package import CarrelHome
import CarrelMetrics
package import CarrelStore
package import CarrelStreaming
package import CarrelWebAPI

/// Listening: positions, history and bookmarks.
package struct ListeningCapability: Capability {
    package let listening: Listening
    package let bookmarks: Bookmarks
    package let history: ListeningHistory
    private let streaming: Streaming
    private let accounts: AccountsCapability
    private let activity: Activity

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - accounts: authenticates listeners.
    ///   - streaming: the streams.
    ///   - lateDays: the number of days after an order's end for which reports about earlier listening are accepted.
    package init(_ context: ServiceContext, _ accounts: AccountsCapability, _ streaming: Streaming, lateDays: Int) {
        self.accounts = accounts
        self.streaming = streaming
        activity = context.activity
        listening = Listening(database: context.database, clock: context.clock, lateDays: lateDays)
        bookmarks = Bookmarks(database: context.database, clock: context.clock)
        history = ListeningHistory(database: context.database, clock: context.clock)
        accounts.lifecycle.join(listening)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "intervals": .deleted(exportedAs: "listening"), "bookmarks": .deleted(exportedAs: "bookmarks"),
    ]
    package static let statements = ListeningStore.statements + BookmarkStore.statements

    package func addRoutes(to router: inout Router) {
        ListeningRoutes(listening: listening, streaming: streaming, callers: accounts.callers, activity: activity)
            .add(to: &router)
        HistoryRoutes(desk: accounts.desk, history: history, callers: accounts.callers).add(to: &router)
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("listening", for: .items(of: "orders")) { _, order, mark, transaction in
                try ListeningStore.exportedIntervals(of: order, after: mark, in: transaction)
            },
            PersonalData.Member("bookmarks") { person, _, mark, transaction in
                try ListeningStore.exportedBookmarks(of: person.account, after: mark, in: transaction)
            },
        ]
    }
}
