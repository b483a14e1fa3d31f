// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelOrders
import CarrelStreaming
import CarrelWebAPI

/// `/v2/states/…`: listening positions, with the names and casing that existing apps use.
struct ListeningRoutes {
    let listening: Listening
    let streaming: Streaming
    let callers: RequestAuthenticator
    let activity: Activity

    /// The maximum size of a report in bytes; an interval has about 200.
    static let bodyLimit = 2 << 20
    /// The maximum number of intervals in a report.
    static let elementLimit = 10_000
    /// The maximum number of JSON values in a report: an interval has up to ten.
    private static let valueLimit = 12 * elementLimit

    func add(to router: inout Router) {
        router.openToOtherOrigins(addStates)
    }

    private func addStates(to router: inout Router) {
        router.on(.post, "v2/states{/}", acceptsChunks: true) { request, _ in try await record(request) }
        router.on(.get, "v2/states/latest/{order}{/}", secret: ["order"]) { request, parameters in
            try await latest(request, parameters)
        }
        router.on(.get, "v2/states/history/{order}{/}", secret: ["order"]) { request, parameters in
            let id = try await admitted(request, parameters)
            let limit = try request.query.integer("limit", in: 1...1000) ?? 50
            let page = try await listening.history(id, after: try IntervalCursor(request.query["after"]), limit: limit)
            var answer: JSONObject = ["intervals": .array(page.intervals.map(Self.json))]
            if let next = page.next { answer["next"] = .string(next.text) }
            return .json(JSON.object(answer))
        }
    }

    private func admitted(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> String {
        let id = try parameters.orderID()
        guard streaming.settings.access == .session else { return id }
        let account = try await callers.reader(request, scope: .sync)
        guard try await streaming.orders.find(id).accountID == account.id else { throw Orders.unknown }
        return id
    }

    private func record(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard
            let report = try await JSONBody.value(
                of: request,
                limit: Self.bodyLimit,
                values: Self.valueLimit,
                isFromApps: true
            ).array
        else {
            throw ServerError(.invalid, "the body must be an array of intervals")
        }
        guard report.count <= Self.elementLimit else {
            throw HTTPError(.contentTooLarge, "request.too-large", "a report holds at most \(Self.elementLimit) intervals")
        }
        let elements = report.map { element in
            Result { () throws(ListeningInterval.Refusal) in try ListeningInterval(json: element) }
        }
        var reader: (account: Account, device: String?)?
        if streaming.settings.access == .session {
            reader = try await callers.readerAndDevice(request, scope: .sync)
            if reader == nil { throw RequestAuthenticator.unauthenticated(request) }
        }
        let outcome = try await listening.record(elements, of: reader?.account.id)
        if outcome.accepted > 0 { activity.count(.positions, outcome.accepted) }
        let now = streaming.clock.now
        if let (account, device) = reader {
            streaming.leases.touch(account.id, Listener.name(of: request, device: device), at: now)
        } else {
            try await touchLeases(of: outcome.orders, request, at: now)
        }
        return .json([
            "accepted": .integer(outcome.accepted),
            "duplicates": .integer(outcome.duplicates),
            "rejected": .array(
                outcome.rejected.map { rejection in
                    var told: JSONObject = ["index": .integer(rejection.index), "code": .string(rejection.code.code)]
                    if let member = rejection.code.member { told["member"] = .string(member) }
                    return .object(told)
                }
            ),
        ])
    }

    /// Renews the leases of a listener to orders whose ids are enough.
    private func touchLeases(of orders: Set<String>, _ request: HTTPRequest, at now: Instant) async throws {
        let session = request.bearerToken == nil ? nil : try await callers.session(request)
        for id in orders {
            streaming.leases.touch(id, Listener.name(of: request, device: nil), at: now)
            guard let device = session?.deviceID else { continue }
            streaming.leases.touch(id, Listener.name(of: request, device: device), at: now)
        }
    }

    private func latest(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let id = try await admitted(request, parameters)
        guard let position = try await listening.latest(id) else {
            throw HTTPError(.notFound, "listening.none", "no position has been reported for this order")
        }
        let etag = "\"\(position.lastUpdated.milliseconds)-\(position.exactMilliseconds)\""
        if request.headers["If-None-Match"] == etag {
            return HTTPResponse(.notModified, headers: ["ETag": etag, "Cache-Control": "private, no-cache"], body: .empty)
        }
        var response = HTTPResponse.json([
            "LastUpdated": .string(position.lastUpdated.description),
            "Position": .integer(position.seconds),
            "PositionMs": .integer(position.exactMilliseconds),
            "DeviceId": .init(position.deviceID),
            "DeviceName": .init(position.deviceName),
        ])
        response.headers["ETag"] = etag
        response.headers["Cache-Control"] = "private, no-cache"
        return response
    }

    static func json(_ interval: ListeningInterval) -> JSON {
        [
            "startUtc": .string(interval.startUTC.description),
            "endUtc": .string(interval.endUTC.description),
            "startPosition": .integer(interval.startPosition),
            "endPosition": .integer(interval.endPosition),
            "positionMs": interval.endPositionMS.map { JSON.integer($0) } ?? .null,
            "deviceId": .init(interval.deviceID),
            "deviceName": .init(interval.deviceName),
            "speed": interval.speed.map { JSON.real($0) } ?? .null,
        ]
    }
}
