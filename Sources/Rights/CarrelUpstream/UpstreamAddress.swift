// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelHTTPClient

/// Rules for the addresses of upstream systems.
package enum UpstreamAddress {
    /// Takes https anywhere, and http on this machine; nothing with a user name and password in it, which would end up in logs.
    package static func check(_ url: String) throws(UpstreamError) {
        guard let scheme = ["https://", "http://"].first(where: { url.lowercased().hasPrefix($0) }),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") })
        else { throw UpstreamError(.address, "an address is not an http or https URL") }
        let authority = url.dropFirst(scheme.count).prefix { !"/?".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("{") else {
            throw UpstreamError(.address, "an address has no host, or more than a host in its place")
        }
        guard scheme == "https://" || isThisMachine(authority) else {
            throw UpstreamError(.address, "an address sends passwords in the clear; https, or this machine")
        }
    }

    /// Whether the host is this machine, by its address or as `localhost`.
    package static func isOnThisMachine(_ url: String) -> Bool {
        url.firstRange(of: "://").map { isThisMachine(url[$0.upperBound...].prefix { !"/?".contains($0) }) } ?? false
    }

    /// Scheme and authority of an address, for reports: paths and queries may contain secrets.
    package static func origin(of url: String) -> String {
        guard let start = url.firstRange(of: "://") else { return "" }
        return String(url[..<start.upperBound] + url[start.upperBound...].prefix { !"/?".contains($0) })
    }

    /// The addresses that connections may lead to, whatever a name resolves to.
    ///
    /// - Parameters:
    ///   - networks: the networks that the operator named; empty for none.
    ///   - isHere: whether the system's URLs name this machine.
    /// - Returns: the named networks; without one any public address, or this machine alone.
    package static func rule(_ networks: [AddressRange], isOnThisMachine isHere: Bool) -> AddressRule {
        if !networks.isEmpty {
            return .only { bytes in IPAddress(bytes: bytes).map { address in networks.contains { $0.contains(address) } } ?? false
            }
        }
        return isHere ? .only { IPAddress(bytes: $0)?.isLoopback ?? false } : .publicOnly
    }

    private static func isThisMachine(_ authority: Substring) -> Bool {
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map { authority.index(after: $0) } : nil
        let host = end.map { authority[..<$0] } ?? authority.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "[::1]"].contains(host.lowercased())
    }
}
