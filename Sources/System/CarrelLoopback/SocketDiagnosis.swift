// SPDX-License-Identifier: Apache-2.0

import CLinux
package import CarrelHTTP
import CarrelThreads
import Glibc

/// The kernel's list of sockets (`sock_diag(7)`), over one netlink socket that stays open.
///
/// A new socket for each request would fail exactly when an app has no descriptors left.
package final class SocketDiagnosis: Sendable {
    /// The kernel cannot be queried.
    package struct Unavailable: Error {
        /// An `errno` value.
        package let number: Int32
    }

    private struct State: Sendable {
        var descriptor: Int32?
        var sequence: UInt32 = 0
    }

    private let state = Locked(State())
    private let open: @Sendable () -> Int32

    /// Nothing is open before the first question.
    package convenience init() {
        self.init(open: Self.newSocket)
    }

    /// - Parameter open: makes a socket, or returns minus an errno value.
    init(open: @escaping @Sendable () -> Int32) {
        self.open = open
    }

    /// A netlink socket, or minus an errno value.
    static func newSocket() -> Int32 { clinux_diagnosis() }

    deinit {
        if let descriptor = state.withLock({ $0.descriptor }) { close(descriptor) }
    }

    /// Finds the socket with the peer's address and port.
    ///
    /// - Parameters:
    ///   - peer: the connection's peer, as the server saw it.
    ///   - address: the server's IPv4 address.
    ///   - port: the server's port.
    /// - Returns: nil if the peer is not on this machine, and if no process holds that socket anymore.
    /// - Throws: an error if the kernel cannot be queried.
    package func peer(_ peer: Peer, connectedTo address: IPAddress, port: UInt16) throws(Unavailable) -> LoopbackPeer? {
        guard case .network(let text, let peerPort) = peer, let peerAddress = IPAddress(text), peerAddress.isLoopback,
            var theirs = clinux_address(peerAddress), var ours = clinux_address(address), theirs.length == 4, ours.length == 4
        else { return nil }
        theirs.port = peerPort
        ours.port = port
        var socket = clinux_loopback_socket()
        switch state.withLock({ ask(&$0, theirs, ours, &socket) }) {
        case 0: return LoopbackPeer(user: socket.user, cookie: socket.cookie, inode: socket.inode)
        case ENOENT: return nil
        case let number: throw Unavailable(number: number)
        }
    }

    /// Queries the open socket; if that fails, a new one.
    private func ask(
        _ state: inout State,
        _ theirs: clinux_address,
        _ ours: clinux_address,
        _ socket: inout clinux_loopback_socket
    ) -> Int32 {
        var (theirs, ours) = (theirs, ours)
        while true {
            let isNew = state.descriptor == nil
            let descriptor = state.descriptor ?? open()
            guard descriptor >= 0 else { return -descriptor }
            state.descriptor = descriptor
            state.sequence &+= 1
            let error = unsafe clinux_loopback_peer(descriptor, state.sequence, &theirs, &ours, &socket)
            if error == 0 || error == ENOENT { return error }
            close(descriptor)
            state.descriptor = nil
            if isNew { return error }
        }
    }
}

extension clinux_address {
    fileprivate init?(_ address: IPAddress) {
        self.init()
        guard unsafe clinux_parse_address(address.description, &self) == 0 else { return nil }
    }
}
