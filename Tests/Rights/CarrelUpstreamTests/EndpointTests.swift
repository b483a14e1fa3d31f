// SPDX-License-Identifier: Apache-2.0

import CarrelUpstream
import Testing

struct `The addresses of an upstream system` {
    @Test(arguments: [
        "http://subs.example.org/", "ftp://127.0.0.1/", "http://127.0.0.1.example.org/", "http://127.0.0.1@example.org/",
        "https://user:secret@example.org/", "https:///sign_in", "/sign_in", "https://{token}/", "https://example.org/{secret}",
        "https://example.org/a b", "http://localhost.example.org/", "http://[::1/", "https://example.org/#{token}",
    ])
    func `does not ask at addresses that are not safe`(address: String) {
        #expect(throws: UpstreamError.self) { try SubscriptionEndpoints(base: address).check() }
    }

    @Test(arguments: [
        "https://example.org", "http://localhost:8080/a", "http://127.0.0.1/", "HTTP://[::1]:80/", "https://[2001:db8::1]/",
    ])
    func `asks at addresses that are`(address: String) throws {
        try SubscriptionEndpoints(base: address).check()
    }
}
