// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelMetrics
import CarrelTesting
import Testing

struct `Metrics` {
    @Test func `are written as Prometheus reads them`() {
        let registry = MetricsRegistry()
        registry.counter("a_total", "Counts a\\b\nc.", [("kind", "x\"y\\z\n")]).add(3)
        registry.counter("a_total", "", [("kind", "x\"y\\z\n")]).add(2)
        registry.counter("a_total", "", [("kind", "other")]).add()
        registry.gauge("b", "Goes up and down.") { -0.5 }
        registry.counter("c_total", "Is counted elsewhere.") { 7 }
        let histogram = registry.histogram("d_seconds", "Takes time.", [("route", "/")], bounds: [0.1, 1])
        for duration in [Duration.milliseconds(50), .milliseconds(100), .milliseconds(500), .seconds(2)] {
            histogram.observe(duration)
        }
        #expect(
            registry.text() == #"""
                # HELP a_total Counts a\\b\nc.
                # TYPE a_total counter
                a_total{kind="x\"y\\z\n"} 5
                a_total{kind="other"} 1
                # HELP b Goes up and down.
                # TYPE b gauge
                b -0.5
                # HELP c_total Is counted elsewhere.
                # TYPE c_total counter
                c_total 7
                # HELP d_seconds Takes time.
                # TYPE d_seconds histogram
                d_seconds_bucket{route="/",le="0.1"} 2
                d_seconds_bucket{route="/",le="1"} 3
                d_seconds_bucket{route="/",le="+Inf"} 4
                d_seconds_sum{route="/"} 2.65
                d_seconds_count{route="/"} 4

                """#
        )
    }

    @Test func `of a server distinguish routes, methods and statuses, and never grow with untrusted input`() async throws {
        try await withServer({ $0.on(.get, "a/{b}") { _, _ in .text("abc") } }) { server in
            for target in ["/a/1", "/a/2", "/c", "/d"] { _ = try await server.get(target) }
            for method in ["BREW", "BOIL"] { _ = try await server.get("/a/1", method: method) }
            _ = try await server.log(6)
            let text = server.metrics.text()
            #expect(text.contains(#"carrel_http_requests_total{route="a/{b}",method="GET",status="200"} 2"#))
            #expect(text.contains(#"carrel_http_requests_total{route="-",method="GET",status="404"} 2"#))
            #expect(text.contains(#"carrel_http_requests_total{route="-",method="-",status="501"} 2"#))
            #expect(text.contains(#"carrel_http_request_duration_seconds_count{route="a/{b}"} 2"#))
            #expect(text.contains("carrel_http_response_body_bytes_total "))
        }
    }

    @Test func `access records are one line of JSON without secrets`() async throws {
        try await withServer({ $0.on(.get, "a/{key}/{b}", secret: ["key"]) { _, _ in .text("abc") } }) { server in
            _ = try await server.get("/a/SECRET/x%22y?token=SECRET", "Authorization: Bearer SECRET\r\nCookie: a=SECRET\r\n")
            let record = try #require(try await server.log(1).first)
            #expect(!record.json.contains("SECRET") && !record.json.contains("\n"))
            #expect(
                record.json.contains(#""method":"GET","path":"/a/*/x%22y","route":"a/{key}/{b}","status":200,"bytes":3,"ms":"#)
            )
            #expect(record.duration > .zero && record.duration < .seconds(60) && record.time <= .now())
        }
    }
}
