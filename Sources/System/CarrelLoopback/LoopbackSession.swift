// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// A part of a ``SessionServer`` with an owner of its own: its addresses, the clients that may use them, and the closure that answers.
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

    /// The clients that a session answers.
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
        ///   - kinds: first segments of the path that the token is for.
        ///   - token: of this area alone.
        ///   - tokenPlace: where clients put it.
        ///   - allowsOtherOrigins: whether a page of another origin that knows the token may send requests, as one without an origin of its
        ///     own has to.
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
    ///   - areas: each with a token of its own.
    ///   - clients: the processes that are answered.
    ///   - action: answers.
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
    /// The decoded segments below the token, or below the kind where the token is in a header field.
    package let path: [String]
    /// The requests of the session whose responses have not ended, this one among them, when it was admitted.
    package internal(set) var runningCount = 0
    /// Closes the connection without the rest of the response, and cancels the tasks of the request.
    package internal(set) var cut: @Sendable () -> Void = {}
}
