// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelHTTP
import CarrelMetrics
import CarrelSubscription
import CarrelWebAPI
import CarrelXML

/// The five calls that apps make, at the server's root: `sign_in`, `renew_token`, `verify_subscription`, `edition_credentials`
/// and `sign_out`, by GET or POST, with parameters in the query or a form, with or without a slash at the end.
///
/// The outcome of a call is in the body; the status is always 200, because apps keep their last state on any other
/// status. Responses are not cacheable.
struct SubscriptionRoutes {
    let service: SubscriptionService
    let names: ParameterNames
    /// Whether categories say their term as `value` too.
    let alsoValue: Bool
    /// Whether calls with a token or a password in the query are refused.
    let refusesQuerySecrets: Bool
    /// Whether responses end with a comment that names the call.
    let saysWhatWasAsked: Bool
    let metrics: MetricsRegistry

    /// Names, passwords and a long token are a few kilobytes.
    private static let bodyLimit = 65_536
    /// Responses longer than this many bytes are streamed.
    private static let pieceSize = 32_768

    func add(to router: inout Router) {
        router.openToOtherOrigins(addCalls)
    }

    private func addCalls(to router: inout Router) {
        on("sign_in", of: &router) { try await signIn($0, $1) }
        on("renew_token", of: &router) { request, parameters in
            let token = parameters[names.token] ?? ""
            return Self.xml(try await service.renew(token, for: Self.caller(request)).write())
        }
        on("verify_subscription", of: &router) { _, parameters in
            answer(try await service.status(of: parameters[names.token] ?? ""))
        }
        on("edition_credentials", of: &router) { request, parameters in
            let answer = try await service.credentials(
                for: parameters[names.product] ?? "",
                token: parameters[names.token] ?? "",
                caller: Self.caller(request)
            )
            return Self.xml(answer.write())
        }
        on("sign_out", of: &router) { request, parameters in
            try await service.signOut(parameters[names.token] ?? "", for: Self.caller(request))
            return .text("signed out\n")
        }
    }

    /// The parameters of a call; a form's win over the query's.
    private struct Parameters {
        let form: Query
        let query: Query

        subscript(names: [String]) -> String? {
            for name in names { if let value = form[name] { return value } }
            for name in names { if let value = query[name] { return value } }
            return nil
        }

        /// The first that says something.
        func firstNamed(_ names: [String], where isSaid: (String) -> Bool) -> String? {
            for source in [form, query] {
                for name in names { if let value = source[name], isSaid(value) { return value } }
            }
            return nil
        }
    }

    private func on(
        _ name: String,
        of router: inout Router,
        _ call: @escaping @Sendable (HTTPRequest, Parameters) async throws -> HTTPResponse
    ) {
        for method in [HTTPMethod.get, .post] {
            let counter = metrics.counter(
                "carrel_query_secrets_total",
                "App calls with a token or a password in the query, which proxies log.",
                [("call", name), ("method", method.rawValue)]
            )
            // GET signs in too here, so that HEAD is not the harmless thing that it is elsewhere.
            router.on(method, name + "{/}", acceptsForms: true, acceptsOtherOrigins: true, answersHead: false) { request, _ in
                Self.unstored(try await respond(name, request, counter, call))
            }
        }
        router.setFieldsOfProblems(at: name, Self.unstored)
    }

    /// On every reply, errors included.
    static let unstored: HTTPFields = [
        "Cache-Control": "no-store, no-cache, must-revalidate, private", "Pragma": "no-cache", "Expires": "0",
        "Referrer-Policy": "no-referrer",
    ]

    /// The same with the media type of responses: most responses have exactly these fields.
    private static let fieldsOfAnswers: HTTPFields = {
        var fields = unstored
        fields["Content-Type"] = contentType
        return fields
    }()

    /// The response with the headers that forbid caching.
    static func unstored(_ response: HTTPResponse) -> HTTPResponse {
        guard response.headers != fieldsOfAnswers else { return response }
        var response = response
        for field in unstored { response.headers[field.name] = field.value }
        return response
    }

    private func holdsSecret(_ query: Query) -> Bool {
        query.pairs.contains { !$0.value.isEmpty && (names.token.contains($0.name) || names.password.contains($0.name)) }
    }

    private func respond(
        _ name: String,
        _ request: HTTPRequest,
        _ secretsInQuery: Counter,
        _ call: (HTTPRequest, Parameters) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        do {
            if holdsSecret(request.query) {
                secretsInQuery.add()
                if refusesQuerySecrets {
                    throw HTTPError(
                        .badRequest,
                        "subscription.secret-in-query",
                        "send tokens and passwords in a POST form: queries are logged"
                    )
                }
            }
            let parameters = try await Self.parameters(of: request)
            let response = try await call(request, parameters)
            guard saysWhatWasAsked else { return response }
            let product = parameters[names.product].map { " of '\($0)'" } ?? ""
            return Self.ending(response, with: XMLWriter.comment("\(name)\(product), request \(request.id)") + "\n".utf8)
        } catch let fault as CannedUsers.Fault {
            switch fault {
            case .status(let status): return HTTPResponse(HTTPStatus(rawValue: status))
            case .garbage, .stall: return .text("<html>{garbage]")
            }
        } catch let error as SourceFailure {
            return error.problem.response(requestID: request.id)
        } catch let error as RuleError {
            return error.problem.response(requestID: request.id)
        } catch let error as HTTPError {
            return error.response(requestID: request.id)
        }
    }

    private static func parameters(of request: HTTPRequest) async throws -> Parameters {
        let form = request.method == .post ? try await request.form(upTo: bodyLimit, orUntyped: true) : Query()
        return Parameters(form: form, query: request.query)
    }

    /// A document with a comment appended; another response unchanged.
    private static func ending(_ response: HTTPResponse, with comment: [UInt8]) -> HTTPResponse {
        guard response.headers["Content-Type"] == contentType else { return response }
        var response = response
        switch response.body {
        case .bytes(let bytes): response.body = .bytes(bytes + comment)
        case .stream(_, let produce):
            response.body = .stream(length: nil) { body in
                try await produce(body)
                try await body.write(comment)
            }
        default: break
        }
        return response
    }

    private func signIn(_ request: HTTPRequest, _ parameters: Parameters) async throws -> HTTPResponse {
        guard let name = parameters[names.user], !name.isEmpty else {
            let answer = SignInAnswer.refused(status: "notrecognised", message: "No user name was sent")
            return Self.xml(answer.write(), status: .badRequest)
        }
        let answer = try await service.signIn(
            SignInRequest(
                name: name,
                password: parameters[names.password] ?? "",
                deviceKey: parameters.firstNamed(names.device, where: Devices.Claim.isKey),
                deviceName: parameters[names.deviceName] ?? request.headers["User-Agent"] ?? "",
                address: request.peer.description,
                requestID: request.id
            )
        )
        return Self.xml(answer.write())
    }

    /// A response in one piece if it is short, else as a stream.
    private func answer(_ status: SubscriptionStatus) -> HTTPResponse {
        let head = SubscriptionAnswer(
            SubscriptionAnswer.State(rawValue: status.state.rawValue) ?? .unknown,
            message: status.message,
            categories: status.categories.map { .init(scheme: $0.scheme, term: $0.term) }
        )
        guard let issues = status.issues else { return Self.xml(head.write(alsoValue: alsoValue)) }
        var writer = SubscriptionWriter(head, alsoValue: alsoValue, hasIssues: true)
        let start = writer
        for issue in issues {
            writer.issue(issue)
            if writer.count > Self.pieceSize { return Self.stream(start, issues) }
        }
        return Self.xml(writer.finish())
    }

    private static func stream(_ start: SubscriptionWriter, _ issues: any Sequence<String> & Sendable) -> HTTPResponse {
        var response = HTTPResponse(
            body: .stream(length: nil) { body in
                var writer = start
                for issue in issues {
                    writer.issue(issue)
                    if writer.count > pieceSize { try await body.write(writer.take()) }
                }
                try await body.write(writer.finish())
            }
        )
        response.headers["Content-Type"] = contentType
        return response
    }

    private static func xml(_ bytes: [UInt8], status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: fieldsOfAnswers, body: .bytes(bytes))
    }

    private static let contentType = "text/xml; charset=utf-8"

    private static func caller(_ request: HTTPRequest) -> AuditActor { .unauthenticated(request.id) }
}
