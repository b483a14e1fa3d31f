// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The origin of links into the server: reachable by browsers and accepted by the server.
package enum LinkOrigin {
    /// The origin for links if no public one is configured.
    ///
    /// - Parameters:
    ///   - address: the address of the server.
    ///   - allowedHosts: ``ServerConfiguration/allowedHosts``.
    /// - Returns: scheme, host and port. The host is the address, or the first allowed host if other machines can reach the
    ///   server; nil if it listens on every address of the machine and no host is configured.
    package static func origin(of address: BoundAddress, allowedHosts: [String]) -> String? {
        guard case .tcp(let ip, let port, let isTLS) = address else { return nil }
        if ip.isLoopback { return "\(address)" }
        guard let host = allowedHosts.first(where: { $0 != "*" }) else { return ip.isWildcard ? nil : "\(address)" }
        let usual: UInt16 = isTLS ? 443 : 80
        return "\(isTLS ? "https" : "http")://\(host)" + (port == usual ? "" : ":\(port)")
    }
}
