// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia

/// The server of a key line's URL (RFC 8216 §4.3.2.4): the response is the key. Errors have no ticket and no query.
struct KeyAddressServer: Sendable {
    /// A key of a server, and the end of its order.
    struct Response: Sendable {
        var key: Secret
        /// The address that returned it: a ticket may have been replaced.
        var url: String
        /// Whether it is the key of an order.
        var isOfOrder = false
        /// When the order ends; nil if it does not.
        var orderEnd: Instant?
    }

    let client: any MediaHTTPClient
    /// Header fields of the caller, for one origin only.
    let fields: [MediaHTTPField]
    /// The origin that gets them: scheme and authority; nil for none.
    let origin: String?

    private static let responseLimit = 64 << 10
    private static let playlistLimit = 16 << 20
    private static let rotationField = "X-Carrel-Key-Rotation"
    private static let endField = "X-Carrel-Order-End"

    /// The origin of an address, in lower case and without the scheme's usual port; nil if it has none.
    static func origin(of address: String) -> String? {
        let reference = URIReference(address)
        guard let scheme = reference.scheme?.lowercased(), let authority = reference.authority?.lowercased(), !authority.isEmpty
        else {
            return nil
        }
        let host = String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
        let usual = scheme == "https" ? ":443" : scheme == "http" ? ":80" : ""
        return "\(scheme)://\(!usual.isEmpty && host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host)"
    }

    /// The header fields for an address: the caller's, if it is of their origin.
    func fields(for url: String) -> [MediaHTTPField] {
        guard let origin, Self.origin(of: url) == Self.origin(of: origin) else { return [] }
        return fields
    }

    /// Requests a key. If the ticket in the address of an order's key has ended, the order's playlist has a new one.
    ///
    /// - Parameter url: an address of https or http.
    /// - Returns: the key.
    /// - Throws: `keys.ended` for an order that was revoked, cancelled or returned; `keys.expired` for one that has expired;
    ///   `keys.response` for another response; `keys.network`, `keys.refused`, `keys.address`.
    func request(_ url: String) async throws(ContentKeyError) -> Response {
        do throws(ContentKeyError) {
            return try await requestOnce(url)
        } catch {
            guard error.code == Self.outdated, let current = try await currentAddress(url) else {
                throw error.code == Self.outdated ? ContentKeyError(.refused, error.message) : error
            }
            do throws(ContentKeyError) { return try await requestOnce(current) } catch {
                throw error.code == Self.outdated ? ContentKeyError(.refused, error.message) : error
            }
        }
    }

    /// The code of an address whose ticket has ended.
    private static let outdated = ContentKeyError.Code("keys.outdated-address")

    private func requestOnce(_ url: String) async throws(ContentKeyError) -> Response {
        let response = try await get(url, limit: Self.responseLimit)
        guard response.status == 200 else { throw Self.refusal(response, isOrder: Self.order(of: url) != nil) }
        guard response.body.count == 16 || response.body.count == 32 else {
            let type = response.field("Content-Type").map { " (\($0.prefix { $0 != ";" }.prefix(64)))" } ?? ""
            throw ContentKeyError(
                .response,
                "the key server returned \(response.body.count) bytes\(type), and keys have 16 or 32"
            )
        }
        var orderEnd: Instant?
        if let text = response.field(Self.endField) {
            orderEnd = Instant.parse(text)
            guard orderEnd != nil else {
                throw ContentKeyError(.response, "the key server returned an end of the order that cannot be read")
            }
        }
        return Response(
            key: Secret(response.body),
            url: url,
            isOfOrder: response.field(Self.rotationField) != nil,
            orderEnd: orderEnd
        )
    }

    private func get(_ url: String, limit: Int) async throws(ContentKeyError) -> MediaHTTPResponse {
        do {
            return try await client.get(url, fields: fields(for: url), limit: limit)
        } catch let error as MediaError where error.code == .unavailable && !Self.mayBeRequested(url) {
            throw ContentKeyError(.address, error.message)
        } catch {
            // the client's error may name the address, and with it a ticket
            throw ContentKeyError(.network, "the key server gave no usable response")
        }
    }

    /// Whether an address is https, or http to this machine.
    private static func mayBeRequested(_ url: String) -> Bool { (try? HTTPMediaClient.check(url)) != nil }

    private static func refusal(_ response: MediaHTTPResponse, isOrder: Bool) -> ContentKeyError {
        let problem = try? JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 8, byteCount: responseLimit))
        let code = isOrder ? problem?["code"]?.string : nil
        switch (code, response.status) {
        case ("ticket.invalid"?, _): return ContentKeyError(outdated, "the address of the key is no longer valid")
        case ("order.revoked"?, _), ("order.cancelled"?, _), ("order.returned"?, _):
            return ContentKeyError(.ended, problem?["detail"]?.string ?? "the order has been revoked")
        case ("order.expired"?, _): return ContentKeyError(.expired, "the order has expired")
        // another device of the reader listens now
        case ("order.concurrency"?, _): return ContentKeyError(.network, "the order has too many listeners now")
        case (_, 429), (_, 500...599):
            return ContentKeyError(.network, "the key server returned status \(response.status)")
        default: return ContentKeyError(.refused, "the key server returned status \(response.status)")
        }
    }

    // MARK: Orders

    /// The parts of the address of an order's key: `…/hls/ORDER/TICKET/N.key`.
    private struct OrderAddress {
        /// Up to the slash before the ticket.
        let prefix: Substring
        /// From the slash after the ticket.
        let suffix: Substring
        let order: Substring
    }

    private static func order(of url: String) -> OrderAddress? {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 7, parts[parts.count - 4] == "hls", let file = parts.last, file.hasSuffix(".key") else { return nil }
        let (order, ticket) = (parts[parts.count - 3], parts[parts.count - 2])
        return OrderAddress(prefix: url[..<ticket.startIndex], suffix: url[ticket.endIndex...], order: order)
    }

    /// Whether two addresses are the same, or lead to keys of one order.
    static func areOfOneOrder(_ one: String, _ other: String) -> Bool {
        guard one != other else { return true }
        guard let one = order(of: one), let other = order(of: other) else { return false }
        return one.prefix == other.prefix
    }

    /// The address of an order's key with the ticket of the order's playlist now; nil if the playlist has none.
    private func currentAddress(_ url: String) async throws(ContentKeyError) -> String? {
        guard let address = Self.order(of: url) else { return nil }
        let response = try await get("\(address.prefix)playlist.m3u8?offline=true", limit: Self.playlistLimit)
        guard response.status == 200 else { throw Self.refusal(response, isOrder: true) }
        let text = String(decoding: response.body, as: UTF8.self)
        let file = address.suffix.prefix { $0 != "?" }
        // URI="…/hls/ORDER/TICKET/N.key…"
        for part in text.split(separator: "\"") {
            let parts = part.prefix { $0 != "?" }.split(separator: "/")
            guard parts.count >= 4, parts[parts.count - 3] == address.order, "/\(parts[parts.count - 1])" == file else {
                continue
            }
            return "\(address.prefix)\(parts[parts.count - 2])\(address.suffix)"
        }
        return nil
    }
}
