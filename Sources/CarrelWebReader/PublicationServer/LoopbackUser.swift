import CLinux
import CarrelHTTP
import CarrelHTTPServer

/// Which user of this machine is at the other end of a connection over loopback.
enum LoopbackUser {
    /// Asks the kernel for the socket with the peer's address and port (`sock_diag(7)`).
    ///
    /// - Parameters:
    ///   - peer: of the connection, as the server saw it.
    ///   - address: where the server listens, an IPv4 address.
    ///   - port: where the server listens.
    /// - Returns: the user's number. Nil when no process holds that socket any more, and when the kernel cannot tell.
    static func id(of peer: Peer, connectedTo address: IPAddress, port: UInt16) -> UInt32? {
        guard case .network(let text, let peerPort) = peer, let peerAddress = IPAddress(text), peerAddress.isLoopback,
            var theirs = clinux_address(peerAddress), var ours = clinux_address(address)
        else { return nil }
        theirs.port = peerPort
        ours.port = port
        let user = unsafe clinux_loopback_user(&theirs, &ours)
        return user >= 0 ? UInt32(exactly: user) : nil
    }
}

extension clinux_address {
    fileprivate init?(_ address: IPAddress) {
        self.init()
        guard unsafe clinux_parse_address(address.description, &self) == 0 else { return nil }
    }
}
