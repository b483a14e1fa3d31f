// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles
import CarrelHTTP
import Glibc

/// A socket that listens; closed, and its path removed, when the last holder lets go.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let address: BoundAddress
    /// Whose connections are taken; nil means anyone's.
    let users: Set<UInt32>?
    let isTLS: Bool
    /// Its index among the listeners that request client certificates; nil for other listeners.
    let site: Int?

    /// - Parameters:
    ///   - listener: the listener's address.
    ///   - site: its index among the listeners that request client certificates.
    /// - Throws: `server.address`, `server.listen`.
    init(_ listener: Listener, site: Int? = nil) throws(HTTPServerError) {
        self.site = site
        let backlog: Int32 = 4096  // the kernel takes the smaller of this and net.core.somaxconn
        switch listener {
        case .tcp(let text, let port, let isTLS):
            var address = clinux_address()
            guard unsafe clinux_parse_address(text, &address) == 0 else {
                throw HTTPServerError(.address, "\(text) is not a numeric address")
            }
            address.port = port
            descriptor = unsafe clinux_listen_tcp(&address, backlog)
            guard descriptor >= 0 else {
                throw HTTPServerError(.listen, "cannot listen on \(text) port \(port): \(systemReason(-descriptor))")
            }
            unsafe clinux_socket_address(descriptor, 1, &address)
            guard let ip = IPAddress(text) else { throw HTTPServerError(.address, "\(text) is not a numeric address") }
            self.address = .tcp(address: ip, port: address.port, isTLS: isTLS)
            self.isTLS = isTLS
            users = nil
        case .unix(let path, let users):
            // The socket of a dead process is replaced; a socket that accepts connections is in use.
            switch unsafe clinux_unix_answers(path) {
            case 0: unsafe unlink(path)
            case 1: throw HTTPServerError(.listen, "another process listens on \(path)")
            case -ENAMETOOLONG: throw HTTPServerError(.address, "\(path) is too long for a socket")
            default: break
            }
            descriptor = unsafe clinux_listen_unix(path, backlog)
            guard descriptor >= 0 else {
                throw HTTPServerError(.listen, "cannot listen on \(path): \(systemReason(-descriptor))")
            }
            address = .unix(path: path)
            isTLS = false
            self.users = users
        }
    }

    deinit {
        if case .unix(let path) = address { unsafe unlink(path) }
        close(descriptor)
    }

    /// Whether a connection's other end may talk to us.
    func admits(_ descriptor: Int32) -> Bool {
        guard let users else { return true }
        let user = clinux_peer_user(descriptor)
        return user >= 0 && users.contains(UInt32(user))
    }
}
