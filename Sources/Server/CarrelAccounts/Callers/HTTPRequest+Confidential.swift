// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
import CarrelMetrics
import CarrelWebAPI

extension HTTPRequest {
    /// Whether the client came by the home's own socket, or from this machine to a name that only this machine has.
    package var isAddressedToThisMachine: Bool {
        guard case .network(let text, _) = peer, IPAddress(text)?.isLoopback == true else {
            if case .local = peer { return true }
            return false
        }
        var host = Substring(authority.lowercased())
        if host.hasPrefix("[") {
            host = host.dropFirst().prefix { $0 != "]" }
        } else if let colon = host.firstIndex(of: ":") {
            host = host[..<colon]
        }
        return host == "localhost" || IPAddress(host)?.isLoopback == true
    }
}

extension RequestAuthenticator {
    /// Whether only the two ends can read the exchange: TLS, or a browser on this machine that uses a local name.
    package func isConfidential(_ request: HTTPRequest) -> Bool {
        request.scheme == "https" || isOnThisMachine(request)
    }

    /// Whether the client is a program on this machine, and no proxy that speaks for another client.
    package func isFromThisMachine(_ request: HTTPRequest) -> Bool {
        let proxyFields = ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"]
        return isOnThisMachine(request) && proxyFields.allSatisfy { request.headers[$0] == nil }
    }

    /// With a proxy in front, a loopback address proves nothing: the proxy may send neither a field about its client nor the
    /// client's `Host`.
    private func isOnThisMachine(_ request: HTTPRequest) -> Bool {
        if case .local = request.peer { return true }
        return trustsLoopback && request.isAddressedToThisMachine
    }
}
