// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// A part of a ``SessionServer`` with its own owner: its addresses, its clients, and the closure that responds.
package final class LoopbackSession: Sendable {
    /// Makes the response to an admitted request. Errors become responses as a `Router` makes them of a route's.
    package typealias Action = @Sendable (SessionRequest) async throws -> HTTPResponse

    /// The place of the token in a request.
    package enum TokenPlace: Sendable {
        /// In the second segment of the path: `/KIND/TOKEN/…`.
        case path
        /// In the field `Authorization: Bearer TOKEN` (RFC 6750 §2.1); the address is `/KIND/…`.
        case header
    }

    /// The clients of a session.
    package enum Clients: Sendable {
        /// Processes of the user that this process runs as.
        case user
        /// Only this process and its descendants.
        case ownProcesses
    }

    /// Addresses of a session that one token opens.
    package struct Area: Sendable {
        /// First segments of the path.
        let kinds: Set<String>
        let token: SessionToken
        let tokenPlace: TokenPlace
        let allowsOtherOrigins: Bool

        /// - Parameters:
        ///   - kinds: the first path segments to which the token applies.
        ///   - token: the token of this area only.
        ///   - tokenPlace: the place of the token in requests.
        ///   - allowsOtherOrigins: whether a page of another origin that knows the token may send requests, as pages with an
        ///     opaque origin must.
        package init(
            _ kinds: Set<String>,
            token: SessionToken = SessionToken(),
            tokenPlace: TokenPlace = .path,
            allowsOtherOrigins: Bool = false
        ) {
            self.kinds = kinds
            self.token = token
            self.tokenPlace = tokenPlace
            self.allowsOtherOrigins = allowsOtherOrigins
        }
    }

    let areas: [Area]
    let clients: Clients
    let action: Action

    /// - Parameters:
    ///   - areas: the areas, each with its own token.
    ///   - clients: the allowed processes.
    ///   - action: responds to requests.
    package init(_ areas: [Area], clients: Clients = .user, _ action: @escaping Action) {
        self.areas = areas
        self.clients = clients
        self.action = action
    }
}

/// A request that a session admitted.
package struct SessionRequest: Sendable {
    /// The whole request: method, query, header fields, body, peer.
    package let http: HTTPRequest
    /// The first segment of the path.
    package let kind: String
    /// The decoded segments below the token, or below the kind if the token is in a header field.
    package let path: [String]
    /// The number of running requests of the session, including this one, when it was admitted.
    package internal(set) var runningCount = 0
    /// Closes the connection without the rest of the response, and cancels the tasks of the request.
    package internal(set) var cut: @Sendable () -> Void = {}
}
