// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
package import CarrelServer
import Testing

private let prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"

/// How a call's parameters travel.
package enum CallTransport: Sendable {
    case query, postQuery, form
    /// A form sent by GET, which is none.
    case getForm

    package static let allCases = [query, postQuery, form]
}

extension TestService {
    /// Makes one of the five calls, in process.
    package func ask(
        _ call: String,
        _ parameters: [String: String],
        _ way: CallTransport = .form,
        from address: String = "192.0.2.1",
        at other: CarrelService? = nil
    ) async throws -> SubscriptionReply {
        let text = parameters.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }.joined(separator: "&")
        var headers: HTTPFields = [:]
        if way == .form || way == .getForm { headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8" }
        let request = HTTPRequest(
            way == .query || way == .getForm ? .get : .post,
            way == .form || way == .getForm ? "/\(call)/" : "/\(call)?\(text)",
            headers: headers,
            body: way == .form || way == .getForm ? Array(text.utf8) : [],
            peer: .network(address: address, port: 1)
        )
        let response = await (other ?? service).router.respond(to: request)
        let body = String(decoding: try await response.body.collect(upTo: 16 << 20), as: UTF8.self)
        #expect(response.headers["Cache-Control"] == "no-store, no-cache, must-revalidate, private")
        #expect(response.headers["Pragma"] == "no-cache")
        return SubscriptionReply(
            status: response.status.rawValue,
            headers: response.headers,
            xml: body.hasPrefix(prolog) ? String(body.dropFirst(prolog.count).dropLast()) : body,
            isDocument: body.hasPrefix(prolog)
        )
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte >= 0x61 && byte <= 0x7a || byte >= 0x30 && byte <= 0x39
            return isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
        }.joined()
    }
}
