// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The origin of links into the server: one that browsers reach and that the server answers for.
package enum LinkOrigin {
    /// The origin for links where the operator has not named a public one.
    ///
    /// - Parameters:
    ///   - address: where the server listens.
    ///   - allowedHosts: ``ServerConfiguration/allowedHosts``.
    /// - Returns: scheme, host and port. The host is the address, or the first allowed one where other machines reach the server; nil where it
    ///   listens on every address of the machine and no host is named.
    package static func origin(of address: BoundAddress, allowedHosts: [String]) -> String? {
        guard case .tcp(let ip, let port, let isTLS) = address else { return nil }
        if ip.isLoopback { return "\(address)" }
        guard let host = allowedHosts.first(where: { $0 != "*" }) else { return ip.isWildcard ? nil : "\(address)" }
        let usual: UInt16 = isTLS ? 443 : 80
        return "\(isTLS ? "https" : "http")://\(host)" + (port == usual ? "" : ":\(port)")
    }
}
