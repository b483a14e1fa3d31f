// SPDX-License-Identifier: Apache-2.0

import CLinux
import CMicroHTTPD
import CarrelBytes
import CarrelHTTP
import Glibc
import Synchronization

/// One thread of libmicrohttpd with its connections.
@safe
final class Worker: @unchecked Sendable {  // its variables are the daemon's thread's
    let core: ServerCore
    let isTLS: Bool
    /// The listener that requests client certificates; nil for others.
    let site: ClientCertificateSite?
    let router: Router
    let buffers = WriteBuffers()
    var ids = RequestIDs()
    /// The host that was last found to be served here, which is mostly the next one too.
    var knownAuthority: String?
    let requests: RequestMetrics
    private var daemon: OpaquePointer?
    /// The daemon's settings, which it refers to while it runs.
    private let settings: UnsafeMutablePointer<cmhd_settings>
    /// The exchanges whose header is still coming.
    private var heads = AwaitedHeads<Exchange>()
    /// Whether the connection that completes next had no room for the head of its response.
    private var lacksRoom = false
    /// The responses that the library made by itself on connections that are still open.
    private var refusals = 0
    private var hasLowPriority = false

    /// - Parameters:
    ///   - core: shared with the other workers.
    ///   - configuration: the limits.
    ///   - certificate: the PEM text of certificate and key, for TLS.
    ///   - site: the site of a listener that requests client certificates.
    /// - Throws: an error if the library does not start.
    init(
        _ core: ServerCore,
        _ configuration: ServerConfiguration,
        certificate: TLSCertificate?,
        site: ClientCertificateSite? = nil
    ) throws(HTTPServerError) {
        self.core = core
        self.site = site
        router = site?.router ?? core.router
        isTLS = certificate != nil
        requests = RequestMetrics(core.metrics)
        unsafe settings = .allocate(capacity: 1)
        unsafe settings.initialize(
            to: cmhd_settings(
                context: Unmanaged.passUnretained(self).toOpaque(),
                access: accessCallback,
                completed: completedCallback,
                connection: connectionCallback,
                target: targetCallback,
                refused: refusedCallback,
                connection_memory: ServerConfiguration.headerBytes,
                connection_limit: UInt32(clamping: configuration.maximumConnections + ServerConfiguration.unixConnections + 64),
                tls_key: nil,
                tls_certificate: nil,
                tls_priorities: nil
            )
        )
        unsafe daemon =
            if let certificate {
                unsafe certificate.withCStrings { key, chain, priorities in
                    unsafe settings.pointee.tls_key = key
                    unsafe settings.pointee.tls_certificate = chain
                    unsafe settings.pointee.tls_priorities = priorities
                    return unsafe cmhd_start(settings)
                }
            } else {
                unsafe cmhd_start(settings)
            }
        guard unsafe daemon != nil else {
            throw certificate == nil
                ? HTTPServerError(.resources, "the system refused a thread or a descriptor")
                : HTTPServerError(.tls, "the certificate and the key do not belong together or cannot be read")
        }
    }

    deinit {
        unsafe settings.deallocate()
    }

    /// The header has come, or never will.
    func endHead(of exchange: Exchange) {
        heads.end(exchange)
    }

    /// The library is about to answer a request by itself, or to close its connection. A length that it does not read we answer, once.
    func hear(_ refusal: cmhd_refusal) {
        switch refusal {
        case CMHD_NO_ROOM: lacksRoom = true
        case CMHD_REFUSED_LENGTH: heads.endRefused(\.hasWholeHead)?.refuseLength()
        default:
            _ = heads.endRefused(\.hasWholeHead)
            refusals += 1
        }
    }

    /// Whether the connection that completes now had no room for the head of its response.
    func takeLackOfRoom() -> Bool {
        defer { lacksRoom = false }
        return lacksRoom
    }

    /// Begins an exchange, which its connection holds until ``end(_:on:_:)``.
    func begin(_ exchange: Exchange) {
        core.inFlight.wrappingAdd(1, ordering: .relaxed)
        heads.add(exchange)
        exchange.connection.handle.exchange = exchange
    }

    /// Ends the exchange of a connection.
    func end(_ exchange: any PendingExchange, on handle: MHDConnection, _ code: MHD_RequestTerminationCode) {
        exchange.complete(code)
        handle.exchange = nil
        core.inFlight.wrappingSubtract(1, ordering: .relaxed)
    }

    /// The library is about to close the connection's descriptor.
    func close(_ connection: Connection) {
        let handle = connection.handle
        handle.end()
        if let exchange = handle.exchange { end(exchange, on: handle, .REQUEST_TERMINATED_WITH_ERROR) }
        // The library does not name the connection that it refused: another may linger instead, within the same bounds.
        if refusals > 0 {
            refusals -= 1
            if !connection.hasHungUp.load(ordering: .relaxed) { handle.lingers = true }
        }
        if handle.lingers || clinux_unread(connection.descriptor) > 0 { core.closing.take(connection.descriptor) }
        core.registry.remove(connection)
        core.connections.remove(connection.descriptor)
    }

    /// Lowers the priority of a listener that requests certificates below other listeners: anyone can begin handshakes there,
    /// which cost about 3 ms of a core each. Call it only on the daemon's thread.
    func lowerPriority() {
        guard site != nil, !hasLowPriority else { return }
        hasLowPriority = true
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10)  // of this thread alone (setpriority(2))
    }

    /// Takes over a connection, or closes it and returns false: then its end is not reported.
    func add(_ descriptor: Int32) -> Bool {
        guard let daemon = unsafe daemon else {
            Glibc.close(descriptor)
            return false
        }
        return unsafe cmhd_add(daemon, descriptor) == .YES
    }

    /// Cuts the remaining connections and waits for the thread to end. No connection may be suspended.
    func stop() {
        guard let daemon = unsafe daemon else { return }
        unsafe self.daemon = nil
        unsafe MHD_stop_daemon(daemon)
        buffers.clear()
    }
}

// What libmicrohttpd calls, on the worker's thread. The worker outlives its daemon.

private func targetCallback(
    _ context: UnsafeMutableRawPointer?,
    _ target: UnsafePointer<CChar>?,
    _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context, let target = unsafe target, let connection = unsafe connection,
        let stored = unsafe cmhd_context(connection)
    else { return nil }
    let worker = unsafe Unmanaged<Worker>.fromOpaque(context).takeUnretainedValue()
    let clientConnection = unsafe Unmanaged<Connection>.fromOpaque(stored).takeUnretainedValue()
    let targetPart = unsafe HeadLayout.Part(start: UInt(bitPattern: target), count: strlen(target))
    let exchange = unsafe Exchange(worker, clientConnection, target: String(cString: target), at: targetPart)
    unsafe cmhd_hide_query(target)
    worker.begin(exchange)
    return unsafe Unmanaged.passUnretained(exchange).toOpaque()
}

private func accessCallback(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ path: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ bytes: UnsafePointer<CChar>?,
    _ count: UnsafeMutablePointer<Int>?,
    _ stored: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let pointer = unsafe stored?.pointee, let method = unsafe method, let version = unsafe version, let count = unsafe count
    else { return .NO }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
    let upload = unsafe UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count.pointee)
    return unsafe exchange.proceed(
        method: method,
        version: version,
        bytes: upload,
        count: &count.pointee
    )
}

private func refusedCallback(_ context: UnsafeMutableRawPointer, _ refusal: cmhd_refusal) {
    unsafe Unmanaged<Worker>.fromOpaque(context).takeUnretainedValue().hear(refusal)
}

private func completedCallback(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ stored: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_RequestTerminationCode
) {
    guard let pointer = unsafe stored?.pointee else { return }
    unsafe stored?.pointee = nil
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
    exchange.worker.end(exchange, on: exchange.connection.handle, code)
}

private func connectionCallback(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ stored: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let worker = unsafe Unmanaged<Worker>.fromOpaque(context).takeUnretainedValue()
    let core = worker.core
    switch code {
    case .CONNECTION_NOTIFY_STARTED:
        worker.lowerPriority()
        let credentials = worker.site?.credentials
        let isUsable = unsafe credentials?.use(for: connection) ?? true
        let clientConnection = unsafe Connection(
            id: core.nextConnectionID(),
            descriptor: cmhd_descriptor(connection),
            handle: MHDConnection(connection),
            isTLS: worker.isTLS,
            credentials: credentials,
            deadline: Monotonic.milliseconds() + core.limits.header
        )
        core.registry.add(clientConnection)
        if core.isStopping.load(ordering: .sequentiallyConsistent) { clientConnection.hangUp() }
        core.watch.add(clientConnection)
        // Without them the session would ask for no certificate: the connection ends before its handshake.
        if !isUsable { shutdown(clientConnection.descriptor, Int32(SHUT_RDWR)) }
        unsafe stored?.pointee = Unmanaged.passRetained(clientConnection).toOpaque()
    case .CONNECTION_NOTIFY_CLOSED:
        guard let pointer = unsafe stored?.pointee else { return }
        unsafe stored?.pointee = nil
        let clientConnection = unsafe Unmanaged<Connection>.fromOpaque(pointer).takeRetainedValue()
        worker.close(clientConnection)
    @unknown default: break
    }
}
