// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// `/admin/v1/blobs`: the blobs that each title uses, for `carrel blobs check`.
struct BlobRoutes {
    let database: any Database
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/blobs") { request, _ in
            try await callers.require(request, .readCatalog)
            let limit = try request.query.integer("limit", in: 1...1000) ?? 100
            let after = request.query["after"] ?? ""
            let rows = try await database.read { transaction in
                try transaction.rows(TitleStore.blobUses, [.text(after), .integer(Int64(limit))]).map { row in
                    (id: try row.text(0), json: try Self.json(row))
                }
            }
            var answer: JSONObject = ["titles": .array(rows.map { $0.json })]
            if rows.count == limit, let last = rows.last { answer["next"] = .string(last.id) }
            return .json(.object(answer))
        }
    }

    private static func json(_ row: Row) throws -> JSON {
        var blobs: JSONObject = ["media": .string(try row.text(4))]
        if let cover = try row.textIfPresent(5) { blobs["cover"] = .string(cover) }
        if let sample = try row.textIfPresent(6) { blobs["sample"] = .string(sample) }
        if let tags = try row.textIfPresent(7) { blobs["tags"] = .string(tags) }
        return [
            "id": .string(try row.text(0)), "title": .string(try row.text(1)), "kind": .string(try row.text(2)),
            "productId": JSON(try row.textIfPresent(3)), "blobs": .object(blobs),
        ]
    }
}
