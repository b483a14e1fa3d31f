// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelHTTP
import CarrelThrottling
import CarrelWebAPI

/// The identity of a listener: the device of the session if any, else the network address.
///
/// The player's name does not count: one device fetches playlist, key and segments under several, and a name costs nothing to
/// change.
package enum Listener {
    /// The listener's name in the leases.
    ///
    /// - Parameters:
    ///   - request: a request for a key or a segment, or a report.
    ///   - device: the id of the session's device; nil if there is none.
    /// - Returns: the name.
    package static func name(of request: HTTPRequest, device: String?) -> String {
        if let device { return "device \(device)" }
        return switch request.peer {
        // A household or a phone has a /64 of IPv6, and picks addresses in it as it likes.
        case .network(let address, _): SignInThrottle.network(of: address)
        case .local(let user): "user \(user)"
        }
    }

    /// The same if an order's id is sufficient. Only apps, which send a token, are looked up: browsers have no device.
    package static func name(of request: HTTPRequest, ownedBy account: String, _ callers: RequestAuthenticator) async throws
        -> String
    {
        guard request.bearerToken != nil, let session = try await callers.session(request), session.account.id == account else {
            return name(of: request, device: nil)
        }
        return name(of: request, device: session.deviceID)
    }
}
