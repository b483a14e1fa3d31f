// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// A server on 127.0.0.1 (or a Unix socket) that says byte for byte what a test wants to hear said, one thread for each
/// connection.
package final class LoopbackServer: Sendable {
    /// The port on which it listens; 0 for a Unix socket.
    package let port: UInt16
    private let listener: Int32
    private let connections = Locked<[ObjectIdentifier: LoopbackConnection]>([:])
    private let accepted = Locked(0)

    /// Starts to listen. `serve` runs for every connection, which is closed when it returns.
    ///
    /// - Parameters:
    ///   - path: of a Unix socket; nil means a free TCP port.
    ///   - serve: runs on a dedicated thread, so it may block.
    package init(unixSocketPath path: String? = nil, _ serve: @escaping @Sendable (LoopbackConnection) -> Void) {
        (listener, port) = path.map { (listen(at: $0), 0) } ?? listenAtFreePort()
        let (listener, connections, accepted) = (listener, connections, accepted)
        startThread(name: "loopback") {
            while true {
                let descriptor = accept(listener)
                if descriptor < 0 { break }
                accepted.withLock { $0 += 1 }
                let connection = LoopbackConnection(descriptor)
                connections.withLock { $0[ObjectIdentifier(connection)] = connection }
                startThread(name: "loopback") {
                    serve(connection)
                    connections.withLock { $0[ObjectIdentifier(connection)] = nil }
                    connection.close()
                }
            }
            close(listener)
        }
    }

    /// Ends every connection and stops to listen.
    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections.withLock({ Array($0.values) }) { connection.hangUp() }
    }

    /// Connections so far.
    package var connectionCount: Int { accepted.withLock { $0 } }

    /// Connections that are open now.
    package var openConnectionCount: Int { connections.withLock { $0.count } }
}

private func accept(_ listener: Int32) -> Int32 {
    while true {
        let descriptor = Glibc.accept(listener, nil, nil)
        if descriptor >= 0 || errno != EINTR { return descriptor }
    }
}

private func listenAtFreePort() -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutableBytes(of: &address) { bytes in
        guard let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
        return unsafe bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
            && getsockname(descriptor, address, &length) == 0
    }
    precondition(isListening, "no loopback port is to be had")
    return (descriptor, UInt16(bigEndian: address.sin_port))
}

private func listen(at path: String) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
        precondition(bytes.count < room.count, "the path of the Unix socket is too long")
        unsafe room.copyBytes(from: bytes)
    }
    let isListening = unsafe withUnsafeBytes(of: &address) { bytes in
        guard let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
        return unsafe bind(descriptor, address, socklen_t(bytes.count)) == 0 && listen(descriptor, 128) == 0
    }
    precondition(isListening, "nothing can listen at \(path)")
    return descriptor
}
