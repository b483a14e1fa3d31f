// SPDX-License-Identifier: Apache-2.0

/// Finds the handler for a request and turns whatever it does into a response.
public struct Router: Sendable {
    /// The routes in the order they were added.
    public private(set) var routes: [Route] = []
    /// Told of every error that a client sees only as a 500, to be logged.
    public var unexpectedError: (@Sendable (any Error, HTTPRequest) -> Void)?
    /// The page for browsers at a path without a route; nil leaves the problem unchanged.
    public var notFoundPage: (@Sendable (HTTPRequest) -> HTTPResponse?)?
    /// The response for callers who may not know which paths exist: requested for every request that no route takes, for any reason, before
    /// any other answer. Nil admits them to that answer.
    public var refusal: (@Sendable (HTTPRequest) -> HTTPResponse?)?
    /// The other origins that the routes of ``openToOtherOrigins(_:)`` are open to; none by default.
    public var otherOrigins = OtherOrigins()
    private var isOpening = false
    private var tree = RouteTree()
    /// Fields of problem responses, by the first path segment.
    private var problemFields: [String: HTTPFields] = [:]

    /// Creates a router without routes.
    public init() {}

    /// Adds a route. Traps if the pattern is malformed or taken.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - pattern: segments joined by `/`, with or without a first one: literal text, `{name}`, `{name}.suffix`,
    ///     `prefix{name}`, or `{name...}` at the end for the rest of the path. `{/}` at the end also accepts a path that ends in
    ///     a slash.
    ///   - secret: parameters that are never logged.
    ///   - acceptsForms: whether a state-changing request may carry a form or plain text.
    ///   - acceptsOtherOrigins: whether a page of another origin may send a state-changing request.
    ///   - acceptsChunks: whether a body may come in chunks (RFC 9112 §7.1); the connection closes after one. The server responds
    ///     411 on all other routes.
    ///   - answersHead: whether a GET route also handles HEAD.
    ///   - handler: creates the response.
    public mutating func on(
        _ method: HTTPMethod,
        _ pattern: String,
        secret: [String] = [],
        acceptsForms: Bool = false,
        acceptsOtherOrigins: Bool = false,
        acceptsChunks: Bool = false,
        answersHead: Bool = true,
        handler: @escaping Route.Action
    ) {
        let parsed = RoutePattern(pattern)
        tree.add(method, parsed)
        routes.append(
            Route(
                method,
                pattern,
                parsed.parts,
                secret: secret,
                acceptsForms: acceptsForms,
                acceptsOtherOrigins: acceptsOtherOrigins,
                acceptsChunks: acceptsChunks,
                isOpenToOtherOrigins: isOpening,
                answersHead: answersHead,
                action: handler
            )
        )
    }

    /// Adds routes that pages of ``otherOrigins`` may use. All other routes are for pages of our own origin.
    ///
    /// - Parameter add: adds the routes.
    public mutating func openToOtherOrigins(_ add: (inout Router) -> Void) {
        let wasOpening = isOpening
        isOpening = true
        defer { isOpening = wasOpening }
        add(&self)
    }

    /// Adds fields to all problem responses of the router at paths with this first segment: if a route throws, and if no route
    /// handles the method.
    ///
    /// - Parameters:
    ///   - segment: the first segment of the path.
    ///   - fields: the fields, which replace fields of the same names.
    public mutating func setFieldsOfProblems(at segment: String, _ fields: HTTPFields) {
        problemFields[segment] = fields
    }

    private func response(_ problem: HTTPError, to request: HTTPRequest) -> HTTPResponse {
        response(problem, at: request.path.segments.first ?? "", requestID: request.id)
    }

    /// The response to a request that is refused before its target is trusted, with the fields of problems at its path.
    ///
    /// - Parameters:
    ///   - problem: the reason for the refusal.
    ///   - target: the target as sent, possibly invalid.
    ///   - requestID: the request's id.
    /// - Returns: the problem.
    public func response(_ problem: HTTPError, toTarget target: String, requestID: String) -> HTTPResponse {
        func isEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
        var path = target.utf8[...]
        // The absolute form, used for proxies (RFC 9112 §3.2.2).
        if path.first != UInt8(ascii: "/"), let scheme = path.firstRange(of: "://".utf8) {
            path = path[scheme.upperBound...].drop { !isEnd($0) }
        }
        let text = Substring(path.dropFirst().prefix { !isEnd($0) })
        return response(problem, at: PercentEncoding.decode(text) ?? String(text), requestID: requestID)
    }

    private func response(_ problem: HTTPError, at segment: String, requestID: String) -> HTTPResponse {
        var response = problem.response(requestID: requestID)
        for field in problemFields[segment] ?? [:] { response.headers[field.name] = field.value }
        return response
    }

    /// Finds the route of a request.
    ///
    /// The outcome carries the problem instead if there is none (404, 405 with `Allow`, 501) or if a page of another origin tries
    /// to change state (403) or an unexpected form is sent (415).
    public func match(_ request: HTTPRequest) -> RouteMatch {
        guard let (ends, values) = tree.match(request.path.segments) else {
            return RouteMatch(problem: HTTPError.notFound("there is nothing at this path"))
        }
        let method = request.method
        let ofHead = ends.first { $0.method == .get && routes[$0.route].answersHead }
        let end = ends.first { $0.method == method } ?? (method == .head ? ofHead : nil)
        guard let end else {
            if let preflight = preflight(request, ends, values) { return preflight }
            guard HTTPMethod.known.contains(method) else {
                return RouteMatch(problem: HTTPError(.notImplemented, "http.method", "the method is not known"))
            }
            var allowed = ends.map(\.method.rawValue)
            if ofHead != nil, !allowed.contains("HEAD") { allowed.append("HEAD") }
            return RouteMatch(
                problem: HTTPError(
                    .methodNotAllowed,
                    "http.method-not-allowed",
                    "the method is not allowed here",
                    headers: ["Allow": allowed.sorted().joined(separator: ", ")]
                )
            )
        }
        let route = routes[end.route]
        return RouteMatch(
            route: route,
            parameters: tree.parameters(of: end.route, values),
            problem: method.isSafe ? nil : route.refusal(of: request, openTo: otherOrigins)
        )
    }

    /// The match of a preflight to an open route; nil for every other request.
    private func preflight(
        _ request: HTTPRequest,
        _ ends: [(method: HTTPMethod, route: Int)],
        _ values: [String]
    ) -> RouteMatch? {
        guard !otherOrigins.isEmpty, let method = OtherOrigins.methodOfPreflight(request) else { return nil }
        let open = ends.filter { routes[$0.route].isOpenToOtherOrigins }
        guard let end = open.first(where: { $0.method == method }) ?? (method == .head ? open.first { $0.method == .get } : nil)
        else { return nil }
        return RouteMatch(
            route: routes[end.route],
            parameters: tree.parameters(of: end.route, values),
            problem: nil,
            preflight: open.map(\.method)
        )
    }

    /// The response to a request, whatever happens.
    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await respond(to: request, match(request))
    }

    /// The response of a route that was found by ``match(_:)``.
    public func respond(to request: HTTPRequest, _ match: RouteMatch) async -> HTTPResponse {
        guard match.route?.isOpenToOtherOrigins == true, !otherOrigins.isEmpty else { return await perform(request, match) }
        if let methods = match.preflight { return otherOrigins.response(toPreflight: request, methods: methods) }
        var response = await perform(otherOrigins.withoutForeignCookies(request), match)
        otherOrigins.admit(&response, to: request)
        return response
    }

    private func perform(_ request: HTTPRequest, _ match: RouteMatch) async -> HTTPResponse {
        guard let route = match.route, match.problem == nil else {
            let problem = match.problem ?? HTTPError.notFound()
            if let response = refusal?(request) { return response }
            if problem.status == .notFound, let page = notFoundPage?(request) { return page }
            return response(problem, to: request)
        }
        do {
            return try await Peer.$current.withValue(request.peer) { try await route.action(request, match.parameters) }
        } catch let error as HTTPError {
            return response(error, to: request)
        } catch let error as any HTTPProblemConvertible {
            if error.isFailure { unexpectedError?(error, request) }
            return response(error.problem, to: request)
        } catch is CancellationError {
            return response(HTTPError(.clientClosedRequest, "http.cancelled"), to: request)
        } catch {
            unexpectedError?(error, request)
            let problem = HTTPError(
                .internalServerError,
                "http.internal",
                "internal error: see the server log for this request id"
            )
            return response(problem, to: request)
        }
    }
}
