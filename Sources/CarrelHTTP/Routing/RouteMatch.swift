/// Which route a request takes, or why none.
public struct RouteMatch: Sendable {
    /// The route; nil when there is none.
    public let route: Route?
    /// Why the request is refused before its handler; nil when it is not.
    public let problem: HTTPError?
    let parameters: PathParameters

    init(route: Route? = nil, parameters: PathParameters = PathParameters(), problem: HTTPError?) {
        self.route = route
        self.parameters = parameters
        self.problem = problem
    }

    /// The path for logs: the route's secret parameters are `*`, and a path that no route knows is not shown.
    public func loggedPath(of request: HTTPRequest) -> String {
        route?.redacted(request.path) ?? "-"
    }
}
