import CLinux
package import CarrelHTTP

/// The socket at the other end of a connection over loopback, as the kernel knows it.
package struct LoopbackPeer: Sendable, Hashable {
    /// The user whose process made the socket.
    package let user: UInt32
    /// The number of the socket, unique until the machine restarts.
    package let cookie: UInt64
    /// The number of the socket in `/proc/PID/fd`.
    private let inode: UInt32

    /// Asks the kernel for the socket with the peer's address and port (`sock_diag(7)`). Nil when no process holds that socket any more, and
    /// when the kernel cannot tell.
    ///
    /// - Parameters:
    ///   - peer: of the connection, as the server saw it.
    ///   - address: where the server listens, an IPv4 address.
    ///   - port: where the server listens.
    package init?(_ peer: Peer, connectedTo address: IPAddress, port: UInt16) {
        guard case .network(let text, let peerPort) = peer, let peerAddress = IPAddress(text), peerAddress.isLoopback,
            var theirs = clinux_address(peerAddress), var ours = clinux_address(address)
        else { return nil }
        theirs.port = peerPort
        ours.port = port
        var socket = clinux_loopback_socket()
        guard unsafe clinux_loopback_peer(&theirs, &ours, &socket) == 0 else { return nil }
        (user, cookie, inode) = (socket.user, socket.cookie, socket.inode)
    }

    /// Whether this process, or one that descends from it, holds the socket. It reads `/proc`, so it blocks: about 2 ms for each
    /// hundred processes of the machine.
    ///
    /// - Returns: false, too, for a process whose parent has ended, and for one whose descriptors this user may not list.
    package func isHeldByOwnProcesses() -> Bool { clinux_own_processes_hold(inode) == 1 }
}

extension clinux_address {
    fileprivate init?(_ address: IPAddress) {
        self.init()
        guard unsafe clinux_parse_address(address.description, &self) == 0 else { return nil }
    }
}
