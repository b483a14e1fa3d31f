// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelBytes
import CarrelCatalog
package import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelStore
import CarrelWebAPI

extension ListeningHistory {
    private static let columns = ["Title", "Started (UTC)", "Ended (UTC)", "From", "To", "Speed", "Device"]

    /// All listened intervals of an account, streamed as a table for spreadsheets: order by order, the oldest first.
    ///
    /// - Parameter account: the account.
    /// - Returns: comma-separated values (RFC 4180) in UTF-8, with a byte order mark for spreadsheets.
    package func table(of account: Account) -> HTTPResponse {
        let (database, id) = (database, account.id)
        let body = ResponseBody.stream(length: nil) { writer in
            var text = Array("\u{FEFF}\(CSV.line(Self.columns))".utf8)
            var mark: [SQLValue]?
            repeat {
                let from = mark
                let orders = try await database.read { try OrderStore.exported(of: id, after: from, in: $0) }
                for order in orders.items {
                    try await Self.write(order, from: database, &text, writer)
                }
                mark = orders.next
            } while mark != nil
            try await writer.write(text)
        }
        return HTTPResponse(
            headers: [
                "Content-Type": "text/csv; charset=utf-8", "Cache-Control": "no-store",
                "Content-Disposition": "attachment; filename=\"listening-history.csv\"",
            ],
            body: body
        )
    }

    /// Adds the lines of one order, and hands on what has come together.
    private static func write(
        _ order: JSON,
        from database: any Database,
        _ text: inout [UInt8],
        _ writer: BodyWriter
    ) async throws {
        let (order, title) = (order["id"]?.string ?? "", order["title"]?["title"]?.string ?? "")
        var mark: [SQLValue]?
        repeat {
            let from = mark
            let page = try await database.read { try ListeningStore.exportedIntervals(of: order, after: from, in: $0) }
            for item in page.items {
                text +=
                    CSV.line([
                        title, item["startUtc"]?.string ?? "", item["endUtc"]?.string ?? "", clock(item["startPosition"]),
                        clock(item["endPosition"]), item["speed"]?.double.map { "\($0)" } ?? "", item["deviceName"]?.string ?? "",
                    ]).utf8
            }
            mark = page.next
            if text.count > 32_768 {
                try await writer.write(text)
                text = []
            }
        } while mark != nil
    }

    /// A position as hours, minutes and seconds.
    private static func clock(_ seconds: JSON?) -> String {
        let seconds = seconds?.int ?? 0
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
