// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudio
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelOrders
import CarrelPackager
import CarrelWebAPI
import CarrelWorks

/// `/v1/stream/hls/{orderId}/…`: playlists, segments, keys, chapters and covers.
struct StreamRoutes {
    let streaming: Streaming
    let titles: Titles
    let callers: RequestAuthenticator
    let activity: Activity

    func add(to router: inout Router) {
        router.openToOtherOrigins(addStreams)
    }

    private func addStreams(to router: inout Router) {
        let order = "v1/stream/hls/{order}"
        router.on(.get, "\(order)/playlist.m3u8", secret: ["order"]) { try await playlist($0, $1) }
        router.on(.get, "\(order)/chapters.json", secret: ["order"]) { try await chapters($0, $1) }
        router.on(.get, "\(order)/cover", secret: ["order"]) { try await cover($0, $1) }
        router.on(.get, "\(order)/{ticket}/{file}", secret: ["order", "ticket"]) { request, parameters in
            do {
                return try await file(request, parameters)
            } catch let error as RuleError where error.kind == .forbidden {
                activity.refuse(error.code.identifier)
                throw error
            }
        }
    }

    /// Returns the grant of a request and the listener's lease.
    private func admitted(
        _ request: HTTPRequest,
        _ parameters: PathParameters,
        at now: Instant
    ) async throws -> (grant: PlaybackGrantCache.Grant, subject: String, listener: String) {
        switch streaming.settings.access {
        case .orderURL:
            let id = try parameters.orderID()
            guard let grant = try await streaming.grants.grant(id, at: now) else { throw Orders.unknown }
            return (grant, id, try await Listener.name(of: request, ownedBy: grant.order.accountID, callers))
        case .session:
            // The order is looked at afterwards, so that a made-up id looks like one of another account.
            guard let (account, device) = try await callers.readerAndDevice(request) else {
                throw RequestAuthenticator.unauthenticated(request)
            }
            let id = try parameters.orderID()
            guard let grant = try await streaming.grants.grant(id, at: now), account.id == grant.order.accountID else {
                throw Orders.unknown
            }
            return (grant, account.id, Listener.name(of: request, device: device))
        }
    }

    private func playlist(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let now = streaming.clock.now
        let (grant, _, _) = try await admitted(request, parameters, at: now)
        try Streaming.requireLive(grant, at: now)
        // Apps write the names of parameters in either case.
        let query = request.query
        guard let form = SegmentForm(rawValue: query.value(ignoringCaseOf: "format") ?? SegmentForm.transportStream.rawValue)
        else {
            throw ServerError(.invalid, "format must be \"ts\" or \"packed\"")
        }
        let asked = Streaming.PlaylistRequest(
            form: form,
            offline: query.hasFlag(ignoringCaseOf: "offline"),
            origin: streaming.settings.publicURL ?? "\(request.scheme)://\(request.authority)"
        )
        let bytes =
            query.hasFlag(ignoringCaseOf: "mediaPlaylist")
            ? try streaming.multivariantPlaylist(grant, asked, cover: try await titles.find(grant.order.titleID).cover != nil)
            : try await streaming.mediaPlaylist(grant, asked, at: now)
        var response = HTTPResponse(
            .ok,
            headers: ["Content-Type": "application/vnd.apple.mpegurl", "Cache-Control": "private, no-cache"],
            body: .bytes(bytes)
        )
        response.isCompressible = true
        return response
    }

    /// A segment or a key: `{ticket}/12.ts`, `{ticket}/12.mp3`, `{ticket}/0.key`.
    private func file(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let now = streaming.clock.now
        let (grant, subject, listener) = try await admitted(request, parameters, at: now)
        guard let (number, suffix) = Self.parts(of: parameters["file"]) else { throw Self.noSuchFile }
        let purpose: Tickets.Purpose = suffix == "key" ? .key : .segment
        let tickets = try await streaming.tickets.tickets(at: now)
        guard tickets.verify(parameters["ticket"], purpose, order: grant.order.id, at: now) else {
            throw RuleError(
                .forbidden,
                "ticket.invalid",
                "this address is no longer valid: fetch the playlist again",
                facts: [("reason", .text("ticket"))]
            )
        }
        try Streaming.requireLive(grant, at: now)
        // HEAD does not listen: no lease, and the order stays unchanged
        let listens = request.method != .head
        if listens { try await streaming.requireLease(subject, listener, at: now) }
        if purpose == .key {
            let response = try await key(grant, period: number, activates: listens)
            if listens { activity.count(.streams) }
            return response
        }
        let codec = grant.media.index.format.codec
        guard let form = SegmentForm.allCases.first(where: { $0.fileExtension(for: codec) == suffix }),
            let stream = try await streaming.segment(grant, number: number, form: form)
        else { throw Self.noSuchFile }
        activity.count(.segments)
        return SegmentBody.response(
            stream,
            mediaType: form.mediaType(for: codec),
            etag: "\"\(grant.order.id.prefix(8))-\(number)-\(form.rawValue)-\(streaming.settings.keyRotation)\"",
            request: request
        )
    }

    /// The end of the order in a response with its key (RFC 3339); the field is absent if the order has no end.
    private static let orderEndField = "X-Carrel-Order-End"

    private func key(_ grant: PlaybackGrantCache.Grant, period: Int, activates: Bool) async throws -> HTTPResponse {
        guard let key = streaming.key(grant, period: period) else { throw Self.noSuchFile }
        var grant = grant
        if activates, grant.order.state == .ready {
            grant.order = try await streaming.orders.activate(grant.order.id)
            try Streaming.requireLive(grant, at: streaming.clock.now)
        }
        var headers: HTTPFields = [
            "Content-Type": "application/octet-stream", "Cache-Control": "no-store",
            "X-Carrel-Key-Rotation": streaming.settings.keyRotation > 0 ? "1" : "0",
        ]
        headers[Self.orderEndField] = grant.order.end?.description
        return HTTPResponse(.ok, headers: headers, body: .bytes(key.withBytes { [UInt8](copying: $0) }))
    }

    /// A number and a suffix: decimal digits without a leading zero, a dot, letters.
    static func parts(of file: String) -> (number: Int, suffix: String)? {
        guard let dot = file.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let digits = file[..<dot]
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            digits == "0" || digits.utf8.first != 0x30, let number = Int(digits)
        else { return nil }
        return (number, String(file[file.index(after: dot)...]))
    }

    private func chapters(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let grant = try await described(request, parameters)
        let title = try await titles.find(grant.order.titleID)
        let offset = Double(grant.media.index.encoderDelay) / Double(grant.media.index.format.sampleRate)
        let chapters = title.metadata.chapters
        // The chapter format of "com.apple.hls.chapters" in HLS session data: start and duration in seconds of the stream.
        let list = chapters.enumerated().map { number, chapter -> JSON in
            let end = number + 1 < chapters.count ? chapters[number + 1].startMS : title.durationMS
            return [
                "chapter": .integer(number + 1),
                "start-time": .number(JSONNumber(Double(chapter.startMS) / 1000 + offset)),
                "duration": .seconds(milliseconds: max(0, end - chapter.startMS)),
                "titles": [["language": .string(title.metadata.language ?? "und"), "title": .string(chapter.title)]],
            ]
        }
        var response = HTTPResponse.json(JSON.array(list))
        response.headers["Cache-Control"] = "private, no-cache"
        return response
    }

    private func cover(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
        let grant = try await described(request, parameters)
        return try await titles.coverResponse(of: grant.order.titleID, for: request)
    }

    /// The grant of an order whose title may be shown: not revoked or canceled. Orders that have expired, or have not started,
    /// are still on their reader's shelf.
    private func described(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> PlaybackGrantCache.Grant {
        let now = streaming.clock.now
        let (grant, _, _) = try await admitted(request, parameters, at: now)
        if grant.order.isWithdrawn { try Streaming.requireLive(grant, at: now) }
        return grant
    }

    private static let noSuchFile = ServerError(.notFound, "there is no such segment or key")
}
