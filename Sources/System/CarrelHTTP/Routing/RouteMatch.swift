// SPDX-License-Identifier: Apache-2.0

/// The route of a request, or the reason why there is none.
public struct RouteMatch: Sendable {
    /// The route; nil if there is none.
    public let route: Route?
    /// The problem that refuses the request before its handler; nil if it is not refused.
    public let problem: HTTPError?
    let parameters: PathParameters
    /// For a preflight request of another origin: the methods of the open routes at its path, `route` among them.
    let preflight: [HTTPMethod]?

    init(
        route: Route? = nil,
        parameters: PathParameters = PathParameters(),
        problem: HTTPError?,
        preflight: [HTTPMethod]? = nil
    ) {
        self.route = route
        self.parameters = parameters
        self.problem = problem
        self.preflight = preflight
    }

    /// The path for logs: the route's secret parameters are `*`, and a path that no route knows is not shown.
    public func loggedPath(of request: HTTPRequest) -> String {
        route?.redacted(request.path) ?? "-"
    }
}
