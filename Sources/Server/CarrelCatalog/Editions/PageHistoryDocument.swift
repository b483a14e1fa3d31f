// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHome
package import CarrelJSON
import CarrelWebAPI
package import CarrelWorks

/// The JSON that tells an ingest outside the server when a product's pages changed.
package enum PageHistoryDocument {
    package static func write(_ history: PageHistory) -> JSONObject {
        let pages = history.pages.sorted { $0.key < $1.key }.map { path, page -> (String, JSON) in
            (path, ["digest": .string(page.digest), "changedAt": .init(page.changedAt)])
        }
        return ["now": .init(history.now), "pages": .object(JSONObject(pages))]
    }

    /// - Throws: ``ServerError`` `invalid` for anything that ``write(_:)`` did not write.
    package static func read(_ json: JSON) throws(ServerError) -> PageHistory {
        guard let object = json.object, let now = try object.instant("now") else {
            throw ServerError(.invalid, "now is missing")
        }
        var pages: [String: PageHistory.Page] = [:]
        for (path, page) in object["pages"]?.object ?? [:] {
            guard let page = page.object, let changedAt = try page.instant("changedAt") else {
                throw ServerError(.invalid, "a page should be an object with changedAt")
            }
            pages[path] = .init(digest: try page.requiredString("digest"), changedAt: changedAt)
        }
        return PageHistory(now: now, pages: pages)
    }
}
