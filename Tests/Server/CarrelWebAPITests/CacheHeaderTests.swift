// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelOrders
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import Glibc
import Testing

/// Whether a reply may be kept, and by whom.
struct `Every reply` {
    private static let peers = [Peer.network(address: "192.0.2.1", port: 1), .local(userID: getuid())]

    /// Targets that fit a pattern: with ids that there are and with ids that there are not.
    private static func targets(_ pattern: String, _ test: TestService, _ order: String) -> [String] {
        ["x", test.title.id, order, "weekly", TestService.isbn].map { id in
            var text = pattern.replacing("{/}", with: "")
            while let start = text.firstIndex(of: "{"), let end = text[start...].firstIndex(of: "}") {
                text.replaceSubrange(start...end, with: id)
            }
            return text.hasPrefix("/") ? text : "/\(text)"
        }
    }

    @Test func `says whether it may be kept, and no refusal may be`() async throws {
        let test = try await TestService(.silence) { $0.passwordCost = .init(memory: 64, passes: 1) }
        try await test.add(product: "weekly")
        let order = try await test.order().id
        let methods = [HTTPMethod.get, .head, .post, .put, .patch, .delete, .options]
        var (replies, statuses, wrong) = (0, Set<Int>(), [String]())
        for isOpen in [true, false] {
            if !isOpen { await test.service.database.close() }
            for target in Set(test.service.router.routes.flatMap { Self.targets($0.pattern, test, order) } + ["/", "/nowhere"])
                .sorted()
            {
                for method in methods {
                    for peer in Self.peers {
                        var request = HTTPRequest(method, target, peer: peer)
                        if method != .get, method != .head {
                            request = HTTPRequest(
                                method,
                                target,
                                headers: ["Content-Type": "application/json"],
                                body: Array("{}".utf8),
                                peer: peer
                            )
                        }
                        let response = await test.service.router.respond(to: request)
                        let (status, control) = (response.status.rawValue, response.headers["Cache-Control"] ?? "nothing")
                        let mayBeKept = !control.contains("no-store") && !control.contains("no-cache")
                        if control == "nothing" || (status >= 400 && mayBeKept) {
                            wrong.append("\(method) \(target): \(status), \(control)")
                        }
                        statuses.insert(status)
                        replies += 1
                    }
                }
            }
        }
        #expect(replies > 5000 && statuses.isSuperset(of: [200, 400, 401, 403, 404, 405, 503]), "\(replies) \(statuses)")
        #expect(wrong.count == 0, "\(wrong.prefix(20))")
    }
}
