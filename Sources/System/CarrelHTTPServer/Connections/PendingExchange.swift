// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD

/// The exchange that a connection holds until its response is sent.
protocol PendingExchange: AnyObject, Sendable {
    /// Completes the exchange: everything was sent, or it never will be. Only on the connection's thread.
    func complete(_ code: MHD_RequestTerminationCode)

    /// Notes that the client is gone.
    ///
    /// - Returns: false if that is known already.
    func markAbandoned() -> Bool

    /// Resumes the connection if it is suspended.
    func wake()
}
