// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCommandLine
import CarrelHTTPServer
import CarrelHome
import CarrelMetrics
import CarrelOrders
import CarrelServer
import CarrelSettings
import CarrelStore
import CarrelStreaming
import CarrelThreads
import CarrelWebAPI
import Glibc

struct ServeCommand: HomeCommand {
    var options = HomeOptions()
    var overrides = SettingOverrides<ServeSettings>()
    var demo = false
    var sweepsEverything = false

    static let name = "serve"
    static let abstract = "Run the server."
    static let discussion = """
        Listens on 127.0.0.1:8080 by default, and on a Unix socket in the home for commands. SIGTERM and SIGINT wait up to \
        30 seconds for open requests; a second signal does not wait. Each request is logged to standard error as a line of \
        JSON, without order ids, tickets and queries. Settings can also be set in carrel.conf in the home \
        and in the environment: 'carrel config check' shows each with its source.
        """
    static let examples = [
        Example("carrel serve", "Serves the home carrel-home for this machine only."),
        Example("carrel serve --bind 0.0.0.0 --http-allowed-hosts audio.example.org", "Serves every network."),
    ]
    static let parameters: [Parameter<Self>] =
        Parameter.settings(\.overrides)
        + [
            .flag(\.demo, "--demo", help: "Show the shelf of the account 'demo' to visitors who are not signed in."),
            .flag(
                \.sweepsEverything,
                "--sweep-everything",
                help:
                    "Allow the first sweep to move more than a tenth of the media to the trash, if the catalog does not refer to them."
            ),
        ]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        protectMemory()
        let home = try options.find(missing: .create)
        var overrides = overrides
        if demo { overrides.set("web.guest-account", "demo") }
        let settings = try LoadedSettings(home: home, overrides: overrides, console: console).values
        var chosen = settings.service
        chosen.subscription.sources = try UpstreamFiles(home: home, settings, console: console).sources
        chosen.relays = try RelayFiles(home: home, console: console).settings
        guard !HomeClient.accepts(home.socketPath) else {
            throw ServerError(.conflict, "a server runs on the home \(home.directory) already")
        }
        chosen.signOn = try settings.signOn.service(publicURL: chosen.stream.publicURL)
        chosen.receipts = try settings.receipts.service()
        try home.make()
        let lock = try FileLock(home.lockPath, taken: "a server runs on the home \(home.directory) already")
        defer { withExtendedLifetime(lock) {} }
        let failures = ErrorLog()
        chosen.onFailure = failures.write
        chosen.auditRetention = settings.auditRetention
        chosen.sweepsEverything = sweepsEverything
        let service = try await options.openService(chosen, creating: console)
        do {
            try await service.tickets.forgetDead(life: chosen.stream.ticketLife)
        } catch {
            console.warning("expired ticket secrets are kept until the next start: \(error)")
        }
        let jobs = BackgroundJobs(service.capabilities.flatMap(\.jobs)) { console.warning($0) }
        let stop = StopSignals()
        let log = settings.accessLog && !options.output.quiet ? AccessLog() : nil
        Self.count(log, failures, in: service.metrics)
        var configuration = try ServerConfiguration(settings, home, descriptors: Int(clinux_raise_descriptors()))
        let rights = try await RightsListener(settings, service)
        configuration.clientCertificateListeners = [rights?.listener].compactMap(\.self)
        let server = HTTPServer(
            configuration: configuration,
            router: service.router,
            log: log.map { $0.write },
            metrics: service.metrics
        )
        let bound = try server.start()
        if let address = bound.first {
            let origin = settings.publicURL ?? LinkOrigin.origin(of: address, allowedHosts: settings.allowedHosts)
            lock.note(origin ?? PublicURLOptions.nowhere)
            console.print("listening on \(address)")
        }
        if let port = bound.last?.port, let location = rights?.listens(on: port) {
            console.note("rights location at \(location)")
        }
        let replacing = BackgroundJobs([rights?.job(server)].compactMap(\.self)) { console.warning($0) }
        announce(settings, home, connections: configuration.maximumConnections, console)
        if let replaced = home.replacedDatabasePath {
            console.note("unused media are kept until you delete \(replaced)")
        }
        let origin = bound.first.flatMap { LinkOrigin.origin(of: $0, allowedHosts: settings.allowedHosts) }
        await offerSetup(service, at: settings.publicURL ?? origin, console)
        await stop.wait()
        console.note("shutting down; waiting up to 30 s for open requests")
        service.drain()
        await replacing.stop()
        await server.shutdown(grace: .seconds(30))
        await log?.flush()
        await failures.flush()
        await Self.settle(service.audit, console)
        await jobs.stop()
        await service.database.close()
    }

    /// Registers the metrics of lost log lines.
    private static func count(_ log: AccessLog?, _ failures: ErrorLog, in metrics: MetricsRegistry) {
        let (name, help) = ("carrel_log_lines_lost_total", "Log lines dropped because their reader was too slow.")
        metrics.counter(name, help, [("log", "access")]) { log?.lost ?? 0 }
        metrics.counter(name, help, [("log", "failure")]) { failures.lost }
    }

    /// Waits for pending entries of the audit log; entries not written within some seconds are logged instead.
    private static func settle(_ audit: Audit, _ console: Console) async {
        // Entries that cannot be written are logged below.
        try? await audit.fold.flushAll()
        let end = ContinuousClock.now + .seconds(5)
        while audit.group.waiting > 0, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(20)) }
        let entries = audit.unwritten
        guard !entries.isEmpty else { return }
        console.warning("\(entries.count) audit entries not yet written; logged here in case they are lost")
        for entry in entries {
            console.note(
                "audit: \(entry.at) \(entry.actor) \(entry.action) \(entry.subject) \(entry.outcome.rawValue) \(entry.reason) "
                    + entry.requestID
            )
        }
    }

    /// Offers a link to set up a server without an owner. It is shown only on a terminal: others may read a file or a journal.
    private func offerSetup(_ service: CarrelService, at url: String?, _ console: Console) async {
        do {
            guard try await !service.staff.hasOwner() else { return }
            guard isatty(STDERR_FILENO) == 1 else {
                return console.note(
                    "no owner yet: create a link for the first one with 'carrel admin setup-link --home \(service.home.directory)'"
                )
            }
            guard let url else {
                return console.warning("no owner yet, and no link for one: \(NoLinkOrigin().message)", hint: NoLinkOrigin().hint)
            }
            let token = try await service.staff.makeSetupLink(by: .operator)
            let base = url.hasSuffix("/") ? String(url.dropLast()) : url
            console.note("no owner yet; create one within 1 hour at \(base)\(StaffRoutes.path(ofLink: token))")
        } catch {
            console.warning("cannot create a setup link: \(error)", hint: "create one with 'carrel admin setup-link'")
        }
    }

    private func announce(_ settings: ServeSettings, _ home: Home, connections: Int, _ console: Console) {
        console.note("home \(home.directory), environment \(home.environment.rawValue)")
        if connections < settings.connections {
            console.note(
                "connection limit \(connections); raise the open-file limit (ulimit -Hn, LimitNOFILE=) for more"
            )
        }
        switch settings.access {
        case .orderURL: console.note("access: anyone with an order id can listen to it (stream.access = order-url)")
        case .session: console.note("access: listening requires the account's session (stream.access = session)")
        }
        if settings.isInTheClear {
            console.warning(
                "passwords and tokens from other machines are not encrypted: no TLS at \(settings.address)",
                hint: "set tls.certificate and tls.key, or put a proxy with TLS in http.trusted-proxies"
            )
        }
        if settings.publicURL != nil || !settings.trustedProxies.isEmpty {
            console.warning(
                "requests from a loopback address get no special access, because http.public-url or http.trusted-proxies is set",
                hint: "read /metrics with a key from 'carrel key create' or over the home's socket"
            )
        }
        if settings.cannedUsers {
            console.warning(
                "anyone can sign in as a canned user (subscription.canned-users)",
                hint: "unset it on a server with readers"
            )
        }
        if settings.sha1Secret != nil {
            console.warning(
                "credentials of the legacy SHA-1 scheme are accepted (compatibility.sha1-credentials), "
                    + (settings.sha1Until.map { "until \($0)" } ?? "for ever"),
                hint: "they never expire: remove the setting once no app uses them"
            )
        }
        if let guest = settings.guestAccount {
            console.note("visitors who are not signed in see the shelf of '\(guest)' (web.guest-account)")
        }
    }

    /// Keeps keys out of core dumps and inaccessible to other processes of the same user.
    private func protectMemory() {
        clinux_forbid_dumps()
    }
}
