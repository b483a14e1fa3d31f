// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import Glibc
import Testing

enum WayToReceive: String, CaseIterable, Codable {
    case send, open, download

    func receive(from port: UInt16) async throws(HTTPClientError) {
        let client = HTTPClient()
        var request = ClientRequest("http://127.0.0.1:\(port)/", maxResponseBytes: 1000)
        request.timeouts.total = .seconds(20)
        switch self {
        case .send: _ = try await client.send(request)
        case .open:
            let stream = try await client.open(request)
            while try await stream.next() != nil {}
        case .download:
            let folder = TemporaryDirectory()
            let descriptor = unsafe Glibc.open(folder.file("body"), O_WRONLY | O_CREAT, 0o600)
            defer { close(descriptor) }
            _ = try await client.download(request, to: descriptor)
        }
    }
}

/// A server that sends the same trailer until its client leaves.
private func endlessOrigin(_ trailer: String) -> LoopbackServer {
    LoopbackServer { connection in
        guard connection.readRequest() != nil else { return }
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")
        let block = String(repeating: trailer, count: 64 * 1024 / trailer.utf8.count)
        while connection.write(block) {}
    }
}

/// Trailers of chunked responses (RFC 9112 §7.1.2), which libcurl keeps until the response ends.
struct `Trailers without end` {
    @Test(arguments: WayToReceive.allCases, ["X: y\r\n", "X-Long: \(String(repeating: "y", count: 1000))\r\n"])
    func `end the transfer at the limit of heads`(way: WayToReceive, trailer: String) async throws {
        let origin = endlessOrigin(trailer)
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [port = origin.port as UInt16, way = way as WayToReceive] in
            await PeakCost.measure {
                await #expect(throws: HTTPClientError(.head)) { try await way.receive(from: port) }
            }
        }
        let cost = try #require(PeakCost(output: result.standardOutputContent))
        guard !PeakCost.isSanitized else { return }
        #expect(cost.mebibytes < 16 && cost.seconds < PeakCost.refusalSeconds, "\(cost)")
    }

    @Test func `are ignored up to that limit`() async throws {
        let trailers = String(repeating: "X: \(String(repeating: "y", count: 995))\r\n", count: 100)
        let origin = rawServer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\(trailers)\r\n")
        let response = try await HTTPClient().send(ClientRequest("http://127.0.0.1:\(origin.port)/"))
        #expect(response.body == Array("abc".utf8) && response.headers["X"] == nil)
    }
}
