// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelHTTP
internal import CarrelThreads
import Synchronization

/// An accepted connection: its peer, its state, and the deadline of that state.
final class Connection: Sendable {
    /// The phase of a connection's present exchange.
    enum Phase: UInt8, AtomicRepresentable {
        /// Nothing of the next request has come, or of the first.
        case idle
        /// The request's line has come.
        case head
        case body
        case handling
        case writing
    }

    let id: UInt64
    let descriptor: Int32
    let handle: MHDConnection
    let peer: Peer
    let isTLS: Bool
    let phase = Atomic(Phase.idle)
    /// In milliseconds of ``Monotonic``; past it the connection is cut.
    let deadline: Atomic<Int64>
    /// Requests whose line has come.
    let requests = Atomic<UInt32>(0)
    /// Set once when the peer was seen to hang up.
    let hasHungUp = Atomic(false)
    /// The client's certificate, if the listener requests one; valid as long as the connection's TLS session.
    let credentials: TLSCredentials?
    private let certificate = Locked<ClientCertificate??>(nil)
    private let waiting = Locked<Waiting?>(nil)
    /// Whether `waiting` was set; only read by the connection's thread.
    private let isWaiting = Atomic(false)

    init(
        id: UInt64,
        descriptor: Int32,
        handle: MHDConnection,
        isTLS: Bool,
        credentials: TLSCredentials? = nil,
        deadline: Int64
    ) {
        self.id = id
        self.handle = handle
        self.credentials = credentials
        self.descriptor = descriptor
        self.isTLS = isTLS
        self.deadline = Atomic(deadline)
        var address = clinux_address()
        if unsafe clinux_socket_address(descriptor, 0, &address) == 0, let ip = IPAddress(address) {
            peer = .network(address: ip.description, port: address.port)
        } else {
            let user = clinux_peer_user(descriptor)
            peer = user >= 0 ? .local(userID: UInt32(user)) : .network(address: "unknown", port: 0)
        }
    }

    /// Enters a phase that may last until `deadline`.
    func enter(_ next: Phase, until deadline: Int64) {
        self.deadline.store(deadline, ordering: .relaxed)
        phase.store(next, ordering: .relaxed)
        if next == .head { requests.wrappingAdd(1, ordering: .relaxed) }
    }

    /// The address the connection came in by.
    var localAddress: IPAddress? {
        var address = clinux_address()
        return unsafe clinux_socket_address(descriptor, 1, &address) == 0 ? IPAddress(address) : nil
    }

    /// The client's certificate from the handshake; it is verified for the first request. Nil without a certificate, and if the
    /// listener requests none.
    ///
    /// Only in one of the connection's callbacks.
    var clientCertificate: ClientCertificate? {
        guard credentials != nil else { return nil }
        return certificate.withLock { certificate in
            if let certificate { return certificate }
            let peerCertificate = handle.clientCertificate
            certificate = .some(peerCertificate)
            return peerCertificate
        }
    }

    /// Makes a suspended exchange hear of a hang-up, which libmicrohttpd does not see then; true if that has happened already.
    func wait(_ waiting: Waiting) -> Bool {
        isWaiting.store(true, ordering: .relaxed)
        self.waiting.withLock { $0 = waiting }
        return hasHungUp.load(ordering: .sequentiallyConsistent)
    }

    /// Ends that.
    func endWait() {
        guard isWaiting.exchange(false, ordering: .relaxed) else { return }
        waiting.withLock { $0 = nil }
    }

    /// Whether no unread part of the request can be missed: libmicrohttpd, which is edge-triggered, does not see the end of the
    /// stream if it arrives together with bytes, and would wait for more.
    var awaitsBytes: Bool {
        switch phase.load(ordering: .relaxed) {
        case .idle, .head, .body: true
        case .handling, .writing: false
        }
    }

    /// The peer has hung up, or the server is going down: waiters are released.
    func hangUp() {
        hasHungUp.store(true, ordering: .sequentiallyConsistent)
        waiting.withLock { $0 }?.abandon()
    }
}
