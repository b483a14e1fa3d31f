package import CarrelHTTP
package import CarrelThreads

extension QueueFull: HTTPProblemConvertible {
    package var problem: HTTPError {
        HTTPError(
            .serviceUnavailable,
            "server.busy",
            "the server has too much to do: try again",
            headers: ["Retry-After": "1"]
        )
    }
}
