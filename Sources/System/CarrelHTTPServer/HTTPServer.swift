// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
package import CarrelHTTP
package import CarrelMetrics
internal import CarrelThreads
import Glibc
import Synchronization

/// Serves a router over HTTP/1.1.
///
/// One thread accepts connections and deals them out in turn to the workers, one thread for each core; a handler starts immediately
/// on its connection's thread and leaves it at its first real `await`. Another thread watches for hang-ups and deadlines.
package final class HTTPServer: Sendable {
    private struct Running {
        let core: ServerCore
        let acceptor: Acceptor
        let workers: [Worker]
        let sites: [ClientCertificateSite]
    }

    private let configuration: ServerConfiguration
    private let router: Router
    private let log: (@Sendable (AccessRecord) -> Void)?
    private let metrics: MetricsRegistry
    private let running = Locked<Running?>(nil)

    /// Creates a server; call `start()` to listen.
    ///
    /// - Parameters:
    ///   - configuration: addresses, trusted proxies and time limits.
    ///   - router: the routes.
    ///   - log: receives every finished request, on its connection's thread: it must not block.
    ///   - metrics: the metrics.
    package init(
        configuration: ServerConfiguration,
        router: Router,
        log: (@Sendable (AccessRecord) -> Void)? = nil,
        metrics: MetricsRegistry = MetricsRegistry()
    ) {
        self.configuration = configuration
        self.router = router
        self.log = log
        self.metrics = metrics
    }

    /// Listens and serves; call it once. Returns the addresses in the order of the listeners, with the listeners that request
    /// client certificates last.
    package func start() throws(HTTPServerError) -> [BoundAddress] {
        signal(SIGPIPE, SIG_IGN)  // a client that hangs up is no reason to die
        var sockets: [ListeningSocket] = []
        for listener in configuration.listeners { sockets.append(try ListeningSocket(listener)) }
        for (i, listener) in configuration.clientCertificateListeners.enumerated() {
            sockets.append(
                try ListeningSocket(.tcp(address: listener.address, port: listener.port, isTLS: true), site: i)
            )
        }
        let bound = sockets.map(\.address)
        let count = max(1, configuration.workers ?? Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let core = try ServerCore(
            configuration,
            workers: count,
            router: router,
            bound: bound,
            log: log,
            metrics: metrics
        )
        var plain: [Worker] = []
        var secure: [Worker] = []
        var sites: [ClientCertificateSite] = []
        var siteWorkers: [[Worker]] = []
        do throws(HTTPServerError) {
            if sockets.contains(where: { !$0.isTLS }) {
                for _ in 0..<count { plain.append(try Worker(core, configuration, certificate: nil)) }
            }
            if sockets.contains(where: { $0.isTLS && $0.site == nil }) {
                guard let files = configuration.tls else {
                    throw HTTPServerError(.tls, "a listener wants TLS but no certificate is configured")
                }
                let certificate = try TLSCertificate(files)
                for _ in 0..<count { secure.append(try Worker(core, configuration, certificate: certificate)) }
            }
            for listener in configuration.clientCertificateListeners {
                let site = try ClientCertificateSite(listener)
                sites.append(site)
                siteWorkers.append([])
                // The daemons require a certificate, but every connection uses the site's instead.
                let certificate = TLSCertificate(listener.identity)
                for _ in 0..<count {
                    let worker = try Worker(core, configuration, certificate: certificate, site: site)
                    siteWorkers[siteWorkers.count - 1].append(worker)
                }
            }
            let acceptor = try Acceptor(sockets)
            core.metrics.gauges(for: core)
            let deadlines = [
                configuration.headerDeadline, configuration.bodyDeadline, configuration.stalledWriter, configuration.keepAlive,
                configuration.exchangeDeadline,
            ]
            let interval = min(1000, max(10, (deadlines.map(\.milliseconds).min() ?? 4000) / 4))
            let cutConnections = core.metrics.cutConnections
            try core.watch.start(
                interval: interval,
                stalledWriter: configuration.stalledWriter.milliseconds,
                header: core.limits.header,
                readRate: Int64(configuration.minimumReadRate),
                configuration.threads
            ) {
                cutConnections.add(UInt64($0))
            }
            try core.closing.start(configuration.threads)
            try acceptor.start(configuration.threads, ConnectionDispatcher(core, plain, secure, siteWorkers).take)
            let workers = plain + secure + siteWorkers.joined()
            running.withLock { $0 = Running(core: core, acceptor: acceptor, workers: workers, sites: sites) }
        } catch {
            for worker in plain + secure + siteWorkers.joined() { worker.stop() }
            core.watch.stop()
            core.closing.stop()
            throw error
        }
        return bound
    }

    /// Replaces the certificate of a listener that requests client certificates, and its trusted authorities. Existing
    /// connections keep theirs.
    ///
    /// - Parameters:
    ///   - identity: the new certificate.
    ///   - index: the index among ``ServerConfiguration/clientCertificateListeners``.
    /// - Throws: `server.tls` for an unusable identity: the old one stays.
    package func replace(_ identity: TLSIdentity, ofClientCertificateListener index: Int = 0) throws(HTTPServerError) {
        guard let sites = running.withLock({ $0?.sites }), sites.indices.contains(index) else { return }
        try sites[index].replace(identity)
    }

    /// Cuts the connections of these peers, without the rest of their responses, and cancels the tasks of their handlers and bodies.
    package func cut(_ peers: Set<Peer>) {
        running.withLock { $0?.core }?.registry.cut(peers)
    }

    /// Stops listening, lets requests that have begun end within `grace`, then cuts the rest. Returns when all is quiet.
    package func shutdown(grace: Duration) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        let core = running.core
        await running.acceptor.stop()
        core.isDraining.store(true, ordering: .sequentiallyConsistent)
        let end = Monotonic.milliseconds() + grace.milliseconds
        while core.inFlight.load(ordering: .relaxed) > 0, Monotonic.milliseconds() < end {
            core.registry.cutIdle()
            try? await Task.sleep(for: .milliseconds(5))
            if Task.isCancelled { break }
        }
        // A suspended connection must be resumed before its daemon stops; the flag keeps it from being suspended again.
        core.isStopping.store(true, ordering: .sequentiallyConsistent)
        for connection in core.registry.all { connection.hangUp() }
        await withCheckedContinuation { continuation in
            let stop = { @Sendable in
                for worker in running.workers { worker.stop() }
                core.watch.stop()
                core.closing.stop()
                continuation.resume()
            }
            // without a thread, this one waits for the workers
            do { try configuration.threads.start(name: "http-stop", stop) } catch { stop() }
        }
    }
}

/// Deals accepted connections out in turn, on the accepting thread.
private final class ConnectionDispatcher: Sendable {
    private let core: ServerCore
    private let plain: [Worker]
    private let secure: [Worker]
    /// The workers of each listener that requests a client certificate.
    private let siteWorkers: [[Worker]]
    private let turn = Atomic(0)

    init(_ core: ServerCore, _ plain: [Worker], _ secure: [Worker], _ siteWorkers: [[Worker]]) {
        self.core = core
        self.siteWorkers = siteWorkers
        self.plain = plain
        self.secure = secure
    }

    func take(_ descriptor: Int32, from socket: ListeningSocket) {
        guard admits(descriptor, from: socket) else {
            close(descriptor)
            core.metrics.refusedConnections.add(1)
            return
        }
        let workers = socket.site.map { siteWorkers[$0] } ?? (socket.isTLS ? secure : plain)
        let worker = workers[turn.wrappingAdd(1, ordering: .relaxed).oldValue % workers.count]
        guard worker.add(descriptor) else {
            core.connections.remove(descriptor)
            core.metrics.refusedConnections.add(1)
            return
        }
    }

    private func admits(_ descriptor: Int32, from socket: ListeningSocket) -> Bool {
        guard socket.users == nil else { return core.connections.admitUnix(descriptor) }
        var address = clinux_address()
        let isKnown = unsafe clinux_socket_address(descriptor, 0, &address) == 0
        return core.connections.admit(descriptor, from: isKnown ? IPAddress(address) : nil)
    }
}
