// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// The responses of a ``SessionServer`` to clients that it does not admit.
package struct Refusals: Sendable {
    /// To processes of other users, whatever they request.
    package var otherUser: HTTPError
    /// To every request while the kernel cannot name the user who sends it.
    package var unknownUser = HTTPError(
        .serviceUnavailable,
        "loopback.unknown-user",
        "the kernel cannot name the user who sends the request: retry",
        headers: ["Retry-After": "1"]
    )
    /// To requests without the right token, whether something exists at the path or not.
    package var noToken: HTTPError
    /// To requests with the right token that a page of another origin sent.
    package var otherOrigin = HTTPError.otherOrigin("a page of another origin cannot do this")
    /// To requests with the right token of a program that is not this one and was not started by it.
    package var otherProcess = HTTPError(
        .forbidden,
        "loopback.other-process",
        "this address is for the program that serves it alone"
    )
    /// To requests for another host than the loopback address and port (DNS rebinding).
    package var otherHost = HTTPError(.misdirectedRequest, "http.host", "this host is not served here")

    /// - Parameters:
    ///   - otherUser: the response to processes of other users.
    ///   - noToken: the response to requests without the right token.
    package init(
        otherUser: HTTPError = HTTPError(.forbidden, "loopback.other-user", "this address is for another user of this machine"),
        noToken: HTTPError = HTTPError(.forbidden, "loopback.token", "only a client that was given the whole address may use it")
    ) {
        self.otherUser = otherUser
        self.noToken = noToken
    }
}
