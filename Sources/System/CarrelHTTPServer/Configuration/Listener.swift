// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// An address to listen on.
package enum Listener: Sendable, Hashable {
    /// A numeric address and a port, 0 for any free one. With TLS if `isTLS`; the configuration names the certificate.
    case tcp(address: String, port: UInt16, isTLS: Bool = false)
    /// A Unix socket for processes of these users.
    case unix(path: String, users: Set<UInt32>)
}

/// The address of a listening server.
package enum BoundAddress: Sendable, Hashable, CustomStringConvertible {
    case tcp(address: IPAddress, port: UInt16, isTLS: Bool)
    case unix(path: String)

    /// `http://127.0.0.1:8080`, or `unix:PATH`.
    package var description: String {
        switch self {
        case .tcp(let address, let port, let isTLS): "\(isTLS ? "https" : "http")://\(address.urlHost):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The port, for TCP.
    package var port: UInt16? {
        if case .tcp(_, let port, _) = self { port } else { nil }
    }
}
