public import CarrelHTTP
public import CarrelThreads

extension QueueFull: HTTPProblemConvertible {
    public var problem: HTTPError {
        HTTPError(
            .serviceUnavailable,
            "server.busy",
            "the server has too much to do: try again",
            headers: ["Retry-After": "1"]
        )
    }
}
