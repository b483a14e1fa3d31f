// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelAudio
package import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHLS
import CarrelHTTP
package import CarrelOrders
import CarrelPackager
import CarrelRights
import CarrelThreads
import CarrelWebAPI

/// Streams orders as HLS with AES-128 (RFC 8216): playlists from the segment index, segments generated on request, keys for
/// active orders.
package final class Streaming: Sendable {
    package let settings: StreamSettings
    package let orders: Orders
    let grants: PlaybackGrantCache
    package let leases: Leases
    let tickets: TicketKeyring
    package let clock: any WallClock
    private let blobs: BlobIOPool
    private let templates = Locked(LRUCache<TemplateKey, PlaylistTemplate>(limit: 64 << 20))

    private struct TemplateKey: Hashable, Sendable {
        let title: String
        let form: SegmentForm
    }

    init(
        settings: StreamSettings,
        orders: Orders,
        grants: PlaybackGrantCache,
        tickets: TicketKeyring,
        blobs: BlobIOPool,
        leases: Leases,
        clock: any WallClock
    ) {
        self.settings = settings
        self.orders = orders
        self.grants = grants
        self.tickets = tickets
        self.blobs = blobs
        self.clock = clock
        self.leases = leases
    }

    /// Refuses an order that is not live, or whose account is suspended, with the reason.
    static func requireLive(_ grant: PlaybackGrantCache.Grant, at now: Instant) throws(RuleError) {
        let order = grant.order
        let availability = order.availability(at: now)
        if availability == .live, grant.isSuspended {
            throw RuleError(
                .forbidden,
                "order.suspended",
                "the account of this order is suspended",
                facts: [("reason", .text("suspended"))]
            )
        }
        let detail: String
        var facts: [(String, HTTPError.Value)] = [("reason", .text(availability.rawValue))]
        switch availability {
        case .live: return
        case .notStarted:
            detail = "this order has not started yet"
            if let start = order.startsAt { facts.append(("startsAt", .text(start.description))) }
        case .expired:
            detail = "this order has expired"
            if let end = order.endsAt { facts.append(("endedAt", .text(end.description))) }
        case .returned: detail = "this title has been returned"
        case .revoked: detail = "this order has been revoked"
        case .cancelled: detail = "this order has been cancelled"
        }
        throw RuleError(.forbidden, "order.\(availability.rawValue)", detail, facts: facts)
    }

    /// Takes or renews the listener's lease, or refuses.
    func requireLease(_ subject: String, _ listener: String, at now: Instant) async throws {
        guard case .refused(let seconds) = try await leases.take(subject, listener, at: now) else { return }
        throw RuleError(
            .forbidden,
            "order.concurrency",
            "too many concurrent listeners: this \(settings.access == .session ? "account" : "order") allows \(settings.concurrency)",
            facts: [
                ("reason", .text("concurrency")), ("limit", .number(Int64(settings.concurrency))),
                ("retryAfter", .number(seconds)),
            ],
            retryAfter: seconds
        )
    }

    // MARK: Playlists

    /// The options of a playlist request.
    struct PlaylistRequest {
        var form: SegmentForm
        /// Whether key URIs have the scheme `offline`, for apps that store keys themselves.
        var offline: Bool
        /// Scheme and authority at which the client reaches the server, such as `https://audio.example.org`.
        var origin: String
    }

    /// The tickets of a playlist made now: the same for a while, so that the playlist is.
    private func window(for grant: PlaybackGrantCache.Grant, at now: Instant) -> Tickets.Window {
        Tickets.Window(at: now, life: max(settings.ticketLife, Int64(grant.media.index.duration * 2000)))
    }

    /// The media playlist of an order.
    func mediaPlaylist(_ grant: PlaybackGrantCache.Grant, _ request: PlaylistRequest, at now: Instant) async throws -> [UInt8] {
        let order = grant.order
        let window = window(for: grant, at: now)
        let tickets = try await tickets.tickets(at: now)
        let keyTicket = tickets.issue(.key, order: order.id, in: window)
        var origin = request.origin
        if request.offline, let colon = origin.firstIndex(of: ":") { origin = "offline" + origin[colon...] }
        // a player derives the key, and must derive it as the server does
        let query = request.offline && settings.keyRotation > 0 ? "?offline=true&rotation=1" : ""
        return try template(of: grant.media, form: request.form)
            .render(ticket: tickets.issue(.segment, order: order.id, in: window)) { number in
                "\(origin)/v1/stream/hls/\(order.id)/\(keyTicket)/\(number).key\(query)"
            }
    }

    private func template(of media: StreamMedia, form: SegmentForm) -> PlaylistTemplate {
        let key = TemplateKey(title: media.titleID, form: form)
        if let known = templates.withLock({ $0[key] }) { return known }
        let template = PlaylistTemplate(
            media.index,
            form: form,
            segmentsPerKey: settings.keyRotation > 0 ? settings.keyRotation : nil
        )
        templates.withLock { $0.insert(template, for: key, cost: template.memory) }
        return template
    }

    /// The multivariant playlist that wraps a media playlist, with the chapters and the cover, if any, as session data. The
    /// cover's address is a value: a URI attribute must lead to JSON (RFC 8216 §4.3.4.4).
    func multivariantPlaylist(_ grant: PlaybackGrantCache.Grant, _ request: PlaylistRequest, cover: Bool) throws -> [UInt8] {
        let index = grant.media.index
        var query: [String] = []
        if request.offline { query.append("offline=true") }
        if request.form == .packed { query.append("format=packed") }
        let bandwidth = index.bandwidth(form: request.form)
        return try MultivariantPlaylist.write(
            mediaURI: "playlist.m3u8" + (query.isEmpty ? "" : "?" + query.joined(separator: "&")),
            bandwidth: bandwidth.peak,
            averageBandwidth: bandwidth.average,
            codecs: index.format.codecString,
            sessionData: [.init(id: "com.apple.hls.chapters", .uri("chapters.json"))]
                + (cover ? [.init(id: "org.carrel.cover", .value("cover"))] : [])
        )
    }

    // MARK: Keys and segments

    /// The key of one period of an order: the order's own if keys do not rotate, else a key derived from it.
    func key(_ grant: PlaybackGrantCache.Grant, period: Int) -> Secret? {
        let rotates = settings.keyRotation > 0
        guard !rotates || period * settings.keyRotation < max(1, grant.media.index.segmentCount) else { return nil }
        return OrderKeys.key(period, of: grant.key, rotates: rotates)
    }

    /// The encrypted segment; nil if the title has no such segment.
    func segment(_ grant: PlaybackGrantCache.Grant, number: Int, form: SegmentForm) async throws -> SegmentStream? {
        let index = grant.media.index
        guard number >= 0, number < index.segmentCount else { return nil }
        guard let key = key(grant, period: settings.keyRotation > 0 ? number / settings.keyRotation : 0) else { return nil }
        let media = grant.media
        let range = index.segment(number).byteRange
        if !media.isWarm(range) { try await blobs.run { _ in try media.warm(range) } }
        return try SegmentStream(index: index, number: number, form: form, key: key, input: media)
    }
}
