// SPDX-License-Identifier: Apache-2.0

/// The other end of a connection.
public enum Peer: Sendable, Hashable, CustomStringConvertible {
    /// A network address, numeric and without brackets; reported by a trusted proxy if any (the port is 0 then).
    case network(address: String, port: UInt16)
    /// A process on this machine, over a Unix socket.
    case local(userID: UInt32)

    /// The address alone, or `uid:N`.
    public var description: String {
        switch self {
        case .network(let address, _): address
        case .local(let userID): "uid:\(userID)"
        }
    }

    /// The client of the current request, anywhere in its handler; nil outside of a handler. The router sets it.
    @TaskLocal public static var current: Peer?
}
