// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelReader
import CarrelThreads
import CarrelUpstream
import Testing

/// A provider on a real server, which returns scripted responses and records requests.
final class ScriptedProvider: Sendable {
    /// A question: the call, how it came, and its parameters as `name=value`.
    struct Question: Sendable, Equatable {
        let call: String
        let method: String
        let parameters: [String]
    }

    let base: String
    private let server: HTTPServer
    private let asked = Locked<[Question]>([])

    /// `answer` gets the call's name and its parameters; the status and body to send.
    init(_ answer: @escaping @Sendable (String, Query) -> (Int, String)) throws {
        var router = Router()
        let asked = asked
        for method in [HTTPMethod.get, .post] {
            router.on(method, "{call}{/}", acceptsForms: true, acceptsOtherOrigins: true) { request, parameters in
                let call = parameters["call"]
                let text = String(decoding: try await request.body.collect(upTo: 65_536), as: UTF8.self)
                let query = method == .post ? try Query(parsing: text) : request.query
                let question = Question(
                    call: call,
                    method: method.rawValue,
                    parameters: query.pairs.map { "\($0.name)=\($0.value)" }
                )
                asked.withLock { $0.append(question) }
                let (status, body) = answer(call, query)
                return .bytes(Array(body.utf8), type: "text/xml", status: HTTPStatus(rawValue: status))
            }
        }
        var configuration = ServerConfiguration()
        configuration.workers = 1
        server = HTTPServer(configuration: configuration, router: router)
        base = "http://127.0.0.1:\(try #require(try server.start().first?.port))"
    }

    /// The questions since they were last taken.
    func questions() -> [Question] {
        asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
    }

    func calls() -> [String] { questions().map(\.call) }

    func stop() async { await server.shutdown(grace: .seconds(1)) }

    func calls(_ change: (inout SubscriptionEndpoints) -> Void = { _ in }) throws -> SubscriptionCalls {
        var endpoints = SubscriptionEndpoints(base: base)
        change(&endpoints)
        return try SubscriptionCalls(endpoints, client: HTTPClient())
    }
}

/// Keeps a subscription as long as the test.
final class MemoryStore: SubscriptionStore {
    private let kept = Locked<[UInt8]?>(nil)

    var bytes: [UInt8]? { kept.withLock { $0 } }

    func load() -> [UInt8]? { bytes }
    func save(_ bytes: [UInt8]?) { kept.withLock { $0 = bytes } }
}
