// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelHTTPServer

/// Which of several connections the library refuses, which it does not say.
struct `A header that is refused` {
    private final class Head {
        var isWhole = false
    }

    @Test func `is the one that has just come, whatever became of those before`() {
        var heads = AwaitedHeads<Head>()
        let (slow, other, third) = (Head(), Head(), Head())
        for head in [slow, other, third] { heads.add(head) }
        other.isWhole = true
        #expect(heads.endRefused(\.isWhole) === other)
        // The answer of the other is on its way still when the first one's header ends.
        slow.isWhole = true
        #expect(heads.endRefused(\.isWhole) === slow)
        heads.end(slow)
        #expect(heads.endRefused(\.isWhole) == nil, "the third has not come")
        third.isWhole = true
        heads.end(third)
        #expect(heads.endRefused(\.isWhole) == nil, "a request that was taken is not refused")
    }

    @Test func `is none in doubt`() {
        var heads = AwaitedHeads<Head>()
        for _ in 0..<2 {
            let head = Head()
            head.isWhole = true
            heads.add(head)
        }
        #expect(heads.endRefused(\.isWhole) == nil)
    }

    @Test func `is answered on its own connection, in whichever order two of them begin and end`() async throws {
        try await withServer(`A dubious request`.routes) { server in
            for round in 0..<20 {
                let (first, second) = (try server.client(), try server.client())
                try await first.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Le")
                try await second.send("POST /b HTTP/1.1\r\nHost: localhost\r\n")
                let isFirst = round % 2 == 0
                try await (isFirst ? first : second).send(isFirst ? "ngth: 4x\r\n\r\n" : "Content-Length: 4x\r\n\r\n")
                #expect(try await (isFirst ? first : second).response().status == 400)
                // The one that was refused is still open on our side.
                try await (isFirst ? second : first).send(isFirst ? "Content-Length: 4y\r\n\r\n" : "ngth: 4y\r\n\r\n")
                let answer = try await (isFirst ? second : first).response()
                #expect(answer.status == 400 && answer.text.contains("http."), "round \(round): \(answer.text)")
            }
        }
    }
}
