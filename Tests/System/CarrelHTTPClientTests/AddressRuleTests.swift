// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import Glibc
import Testing

struct `The address rule` {
    // the IANA IPv4 and IPv6 Special-Purpose Address Registries: the first and last address of blocks, and their neighbours
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "2606:4700::1111",
        "2001:4860:4860::8888",
        "2400::", "2a00:1450::1", "2001:200::", "64:ff9b::8.8.8.8",
    ])
    func `lets public addresses through`(text: String) throws {
        #expect(AddressRule.isPublic(try #require(parse(text))))
    }

    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255",
        "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1",
        "2001:10::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
        "4000::1", "1fff::1",
    ])
    func `stops every other address`(text: String) throws {
        #expect(!AddressRule.isPublic(try #require(parse(text))))
    }

    @Test func `blocks invalid addresses`() {
        #expect(!AddressRule.isPublic([]))
        #expect(!AddressRule.isPublic([8, 8, 8]))
        #expect(!AddressRule.isPublic([UInt8](repeating: 0x20, count: 15)))
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0x7f.1", "localhost", "LOCALHOST", "0", "0.0.0.0",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1.", "%31%32%37.0.0.1",
    ])
    func `is not fooled by how a loopback address is written`(host: String) async throws {
        let recorder = Recorder(body: "secret")
        let careful = HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
        let request = ClientRequest("http://\(host):\(recorder.server.port)/")
        var caught: HTTPClientError?
        do { _ = try await careful.send(request) } catch { caught = error }
        // libcurl refuses some of these spellings itself, before there is an address
        let refusals = [HTTPClientError(.address), HTTPClientError(.resolve), HTTPClientError(.url)]
        #expect(refusals.contains { $0 == caught }, "\(caught as Any)")
        #expect(recorder.server.connectionCount == 0)
    }

    @Test(arguments: ["127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"])
    func `matters: without it the same spellings reach the server`(host: String) async throws {
        let recorder = Recorder(body: "open")
        let response = try await HTTPClient().send(ClientRequest("http://\(host):\(recorder.server.port)/"))
        #expect(response.body == Array("open".utf8))
    }

    @Test func `holds for Unix sockets and where redirects lead`() async throws {
        let careful = HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
        var request = ClientRequest("http://example.org/")
        request.unixSocketPath = "/run/carrel.sock"
        await #expect(throws: HTTPClientError(.address)) { try await careful.send(request) }
    }

    private func parse(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if unsafe inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return unsafe inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
