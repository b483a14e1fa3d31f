// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP
package import CarrelJSON

/// One page of a list: the query's `limit` and `after`, and the response's `next`.
package struct ListPage {
    /// Rows at most.
    package let limit: Int
    /// The instant and id of the last row of the page before; nil for the first page.
    package let after: (Instant, String)?

    /// - Parameters:
    ///   - query: `limit` from 1 to `most`, `after` the `next` of an earlier page.
    ///   - limit: the number of rows if the query has no `limit`.
    ///   - most: the maximum `limit`.
    /// - Throws: `request.invalid`.
    package init(_ query: Query, limit: Int = 100, most: Int = 1000) throws {
        self.limit = try query.integer("limit", in: 1...most) ?? limit
        after = try PageCursor.parse(query["after"])
    }

    /// The response's object: the rows, and as `next` the cursor of the last row if there may be more.
    ///
    /// - Parameters:
    ///   - name: the member with the rows.
    ///   - rows: at most ``limit``.
    ///   - json: returns the JSON of a row.
    ///   - cursor: the instant and id by which a row is sorted.
    /// - Returns: the object, to which a caller may add members.
    package func json<Row>(
        _ name: String,
        _ rows: [Row],
        _ json: (Row) throws -> JSON,
        cursor: (Row) -> (Instant, String)
    ) rethrows -> JSONObject {
        var object: JSONObject = [name: .array(try rows.map(json))]
        if rows.count == limit, let last = rows.last {
            let (createdAt, id) = cursor(last)
            object["next"] = .string(PageCursor.text(createdAt, id))
        }
        return object
    }
}
