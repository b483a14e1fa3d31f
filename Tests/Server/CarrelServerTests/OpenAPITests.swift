// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import Testing

struct `The OpenAPI document` {
    /// Routes that are pages, or parts of them, and no API.
    private static let pages: Set<String> = [
        "", "admin{/}", "listen/{order}", "account", "account/link",
        "account/link/{code}", "assets/{name}", "sign-in", "sign-in/{token}", "reset/{token}", "sign-out",
    ]

    @Test func `has every route of the API and no other`() async throws {
        let test = try await TestService()
        let document = try await test.call(.get, "/openapi.json")
        #expect(document.status == 200)
        #expect(document.json["openapi"] == "3.1.0")
        var documented: Set<String> = []
        for (path, operations) in document.json["paths"]?.object ?? [:] {
            for (method, _) in operations.object ?? [:] { documented.insert("\(method.uppercased()) \(path)") }
        }
        let routed = test.service.router.routes.filter { !Self.pages.contains($0.pattern) }.map {
            "\($0.method) /\($0.pattern.replacing("{/}", with: ""))"
        }
        #expect(Set(routed) == documented)
    }

    @Test func `refers to nothing that it does not have`() async throws {
        let test = try await TestService()
        let document = try await test.call(.get, "/openapi.json").json
        let schemas = Set(document["components"]?["schemas"]?.object?.names ?? [])
        var missing: Set<String> = []
        func walk(_ value: JSON) {
            if let name = value["$ref"]?.string?.split(separator: "/").last, !schemas.contains(String(name)) {
                missing.insert(String(name))
            }
            for (_, member) in value.object ?? [:] { walk(member) }
            for element in value.array ?? [] { walk(element) }
        }
        walk(document)
        #expect(!schemas.isEmpty)
        #expect(missing.isEmpty)
    }
}
