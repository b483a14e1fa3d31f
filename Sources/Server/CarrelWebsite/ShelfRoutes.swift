// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudio
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelListening
import CarrelOrders
import CarrelPackager
import CarrelStore
import CarrelStreaming
import CarrelWebAPI
import CarrelWorks

/// `/v1/shelf…`: the data of the bookshelf and the listening page. Requests come from an account's own browser, or from a
/// visitor's if there is a guest account; bookmarks require an account.
struct ShelfRoutes {
    let database: any Database
    let orders: Orders
    let titles: Titles
    let listening: Listening
    let bookmarks: Bookmarks
    let grants: PlaybackGrantCache
    let callers: RequestAuthenticator
    let clock: any WallClock

    /// The maximum number of orders in one response.
    private static let pageLimit = 500

    func add(to router: inout Router) {
        router.on(.get, "v1/shelf") { request, _ in try await shelf(request) }
        router.on(.get, "v1/shelf/{order}", secret: ["order"]) { request, parameters in
            try await item(request, parameters)
        }
        router.on(.get, "v1/shelf/{order}/bookmarks", secret: ["order"]) { request, parameters in
            let account = try await callers.owner(request).account
            let order = try await ownOrder(of: account, parameters)
            let list = try await bookmarks.list(account: account.id, title: order.titleID)
            return .json(["bookmarks": .array(list.map(Self.json))])
        }
        router.on(.post, "v1/shelf/{order}/bookmarks", secret: ["order"]) { request, parameters in
            let account = try await callers.owner(request).account
            let order = try await ownOrder(of: account, parameters)
            let object = try await JSONBody.object(of: request, limit: 16_384)
            guard let seconds = try object.number("seconds"), seconds >= 0, seconds < 1e8 else {
                throw ServerError(.invalid, "seconds must be a position in the title")
            }
            let bookmark = try await bookmarks.add(
                account: account.id,
                title: order.titleID,
                positionMS: Int64((seconds * 1000).rounded()),
                note: try object.string("note") ?? ""
            )
            return .json(Self.json(bookmark), status: .created)
        }
        router.on(.delete, "v1/shelf/{order}/bookmarks/{bookmark}", secret: ["order"]) { request, parameters in
            let account = try await callers.owner(request).account
            _ = try await ownOrder(of: account, parameters)
            try await bookmarks.remove(parameters["bookmark"], account: account.id)
            return .empty(.noContent)
        }
    }

    /// The order of a path, which is the account's.
    private func ownOrder(of account: Account, _ parameters: PathParameters) async throws -> Order {
        let order = try await orders.find(try parameters.orderID())
        guard order.accountID == account.id else { throw Orders.unknown }
        return order
    }

    /// A page of the shelf, the newest orders first; what follows begins after its `next`.
    private func shelf(_ request: HTTPRequest) async throws -> HTTPResponse {
        let account = try await callers.reader(request)
        let page = try ListPage(request.query, limit: Self.pageLimit, most: Self.pageLimit)
        let (now, id) = (clock.now, account.id)
        let items = try await database.read { try ShelfStore.items(of: id, after: page.after, limit: page.limit, in: $0) }
        let isGuest = try await callers.signedIn(request) == nil
        var object = page.json("items", items) {
            .object(Self.json($0.order, $0.title, at: $0.place, now: now))
        } cursor: {
            ($0.order.createdAt, $0.order.id)
        }
        object["account"] = ["name": .string(account.name), "guest": .bool(isGuest)]
        return Self.private(.object(object))
    }

    private func item(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let account = try await callers.reader(request)
        let order = try await ownOrder(of: account, parameters)
        let title = try await titles.find(order.titleID)
        guard let grant = try await grants.grant(order.id, at: clock.now) else { throw Orders.unknown }
        let position = try await listening.latest(order.id)
        let titlePosition = try await listening.latest(account: account.id, title: title.id)
        var item = Self.json(order, title, at: position.map { ($0.exactMilliseconds, $0.lastUpdated) }, now: clock.now)
        item["guest"] = .bool(try await callers.signedIn(request) == nil)
        item["chapters"] = .array(
            title.metadata.chapters.map { ["title": .string($0.title), "start": .seconds(milliseconds: $0.startMS)] }
        )
        item["playlist"] = .string("/v1/stream/hls/\(order.id)/playlist.m3u8?format=packed")
        item["nativePlaylist"] = .string("/v1/stream/hls/\(order.id)/playlist.m3u8")
        let index = grant.media.index
        item["codec"] = .string(index.format.codecString)
        item["streamOffset"] = .number(JSONNumber(Double(index.encoderDelay) / Double(index.format.sampleRate)))
        item["titlePosition"] = .null
        if let titlePosition, titlePosition.orderID != order.id {
            var place = Self.json((titlePosition.exactMilliseconds, titlePosition.lastUpdated))
            place["order"] = .string(titlePosition.orderID)
            item["titlePosition"] = .object(place)
        }
        return Self.private(.object(item))
    }

    private static func `private`(_ value: JSON) -> HTTPResponse {
        var response = HTTPResponse.json(value)
        response.headers["Cache-Control"] = "private, no-store"
        return response
    }

    private static func json(_ order: Order, _ title: Title, at place: ShelfStore.Place?, now: Instant) -> JSONObject {
        let metadata = title.metadata
        return [
            "order": .string(order.id),
            "kind": .string(order.kind.rawValue),
            "state": .string(order.publicState(at: now)),
            "startsAt": .init(order.startsAt),
            "endsAt": .init(order.endsAt),
            "title": [
                "id": .string(title.id),
                "title": .string(metadata.title),
                "subtitle": .init(metadata.subtitle),
                "authors": .array(metadata.authors.map { .string($0) }),
                "narrators": .array(metadata.narrators.map { .string($0) }),
                "duration": .seconds(milliseconds: title.durationMS),
                "language": .init(metadata.language),
                "description": .init(metadata.description),
                "cover": title.cover == nil || order.isWithdrawn ? .null : .string("/v1/stream/hls/\(order.id)/cover"),
            ],
            "position": place.map { .object(json($0)) } ?? .null,
        ]
    }

    private static func json(_ place: ShelfStore.Place) -> JSONObject {
        ["seconds": .seconds(milliseconds: place.milliseconds), "lastUpdated": .string(place.at.description)]
    }

    private static func json(_ bookmark: Bookmarks.Bookmark) -> JSON {
        [
            "id": .string(bookmark.id), "seconds": .seconds(milliseconds: bookmark.positionMS),
            "note": .string(bookmark.note), "createdAt": .string(bookmark.createdAt.description),
        ]
    }
}
