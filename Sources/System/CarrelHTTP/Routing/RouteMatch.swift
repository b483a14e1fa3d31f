// SPDX-License-Identifier: Apache-2.0

/// Which route a request takes, or why none.
public struct RouteMatch: Sendable {
    /// The route; nil if there is none.
    public let route: Route?
    /// Why the request is refused before its handler; nil if it is not.
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
