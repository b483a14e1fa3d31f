// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelThreads

extension QueueFull: HTTPProblemConvertible {
    package var problem: HTTPError {
        HTTPError(
            .serviceUnavailable,
            "server.busy",
            "the server is overloaded: try again",
            headers: ["Retry-After": "1"]
        )
    }
}
