// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient

/// A response of the license server that a relay returns unchanged.
struct RelayAnswer: Sendable {
    let status: HTTPStatus
    let headers: HTTPFields
    let body: [UInt8]
    /// The time for which it may be cached; nil if it does not say.
    let lifetime: Duration?

    /// Largest body in each direction, in bytes.
    static let maxByteCount = 64 << 10
    /// The prefix of the fields of Axinom's services, in lower case.
    static let prefix = "x-axdrm-"

    /// Takes a response of a license server.
    ///
    /// - Throws: `relay.answer` for a redirect, and for HTML without a field of Axinom's services: a page of a proxy or a portal.
    init(_ response: ClientResponse) throws(RelayError) {
        let status = response.status.rawValue
        guard !(300..<400).contains(status) else {
            throw RelayError(.answer, "the license server redirects (status \(status)): set its final address in relay.url")
        }
        let passed = response.headers.filter { field in
            let name = field.name.lowercased()
            return name.hasPrefix(Self.prefix) || name == "content-type" || name == "content-encoding"
        }
        let isOfService = passed.contains { $0.name.lowercased().hasPrefix(Self.prefix) }
        guard isOfService || !Self.isPage(response) else {
            throw RelayError(
                .answer,
                "the license server responded with an HTML page (status \(status)): check relay.url, and proxies before it"
            )
        }
        self.status = response.status
        var headers: HTTPFields = [:]
        for field in passed { headers.append(field.name, field.value) }
        self.headers = headers
        body = response.body
        lifetime = Self.lifetime(response.headers)
    }

    private static func isPage(_ response: ClientResponse) -> Bool {
        let type = (response.headers["Content-Type"] ?? "").lowercased().prefix { $0 != ";" }
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") { return true }
        let start = response.body.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }.prefix(14)
        let text = String(decoding: start, as: UTF8.self).lowercased()
        return text.hasPrefix("<!doctype html") || text.hasPrefix("<html")
    }

    /// The time for which a response may be cached (RFC 9111 §5.2.2); nil if it does not say.
    private static func lifetime(_ headers: HTTPFields) -> Duration? {
        guard let list = headers.list("Cache-Control") else { return nil }
        var life: Duration?
        for directive in list.lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { part in
                String(part.filter { !" \t\"".contains($0) })
            }
            switch parts.first {
            case "no-store", "no-cache", "private": return .zero
            case "max-age" where parts.count == 2: life = Int(parts[1]).map { .seconds(min(max(0, $0), 31_536_000)) } ?? .zero
            default: continue
            }
        }
        return life
    }
}
