package import CarrelAccounts
package import CarrelAudit
import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelMetrics
import CarrelJSON
package import CarrelStore
package import CarrelWebAPI

/// Health, metrics, keys, the audit log as staff see it, explanations, and what is known about a person.
package struct AdministrationCapability: Capability {
    package let nodes: Nodes
    package let erasure: Erasure
    package let export: PersonalExport
    package let register: PersonalRegister
    package let housekeeping: Housekeeping
    private let estate: Estate
    private let others: [any Capability]
    private let accounts: AccountsCapability
    private let audit: Audit
    private let explanations: ExplanationRoutes
    private let version: String
    private let isDraining: @Sendable () -> Bool

    /// - Parameters:
    ///   - estate: what it stands on.
    ///   - others: all other capabilities.
    ///   - accounts: who calls.
    ///   - audit: the audit log.
    ///   - explanations: why somebody may read or listen to something.
    ///   - version: which version of the program runs.
    ///   - isDraining: whether the server is about to stop.
    package init(
        _ estate: Estate,
        beside others: [any Capability],
        _ accounts: AccountsCapability,
        _ audit: Audit,
        explanations: Explanations,
        version: String,
        isDraining: @escaping @Sendable () -> Bool
    ) {
        self.estate = estate
        self.others = others
        self.accounts = accounts
        self.audit = audit
        self.version = version
        self.isDraining = isDraining
        let (database, clock) = (estate.database, estate.clock)
        nodes = Nodes(home: estate.home, database: database, clock: clock, master: estate.master)
        register = PersonalRegister(others, Self.tables)
        erasure = Erasure(database: database, clock: clock, lifecycle: accounts.lifecycle, expunging: estate.expunging)
        export = PersonalExport(database: database, clock: clock, register: register, audit: audit.group)
        housekeeping = Housekeeping(
            database: database,
            clock: clock,
            expunging: estate.expunging,
            cleanups: others.flatMap(\.cleanups)
        )
        self.explanations = ExplanationRoutes(explanations, audit: audit.group, callers: accounts.callers)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "secrets": .nothing("the server's own secrets, wrapped"),
        "master_keys": .nothing("fingerprints of the server's own keys"),
        "nodes": .nothing("the servers on this database; gone some minutes after the last sign of life"),
        "installation": .nothing("a random id"),
        "schema_version": .nothing("the version of the tables"),
    ]
    package static let statements =
        NodeStore.statements + SecretStore.statements + MasterKeyStore.statements + InstallationStore.statements

    package func addRoutes(to router: inout Router) {
        let (callers, database) = (accounts.callers, estate.database)
        MasterKeyRoutes(
            database: database,
            master: estate.master,
            nodes: nodes,
            rotation: KeyRotation(
                home: estate.home,
                database: database,
                clock: estate.clock,
                columns: others.flatMap(\.wrappedKeys)
            ),
            callers: callers
        ).add(to: &router)
        PrivacyRoutes(desk: accounts.desk, export: export, erasure: erasure, register: register, callers: callers)
            .add(to: &router)
        explanations.add(to: &router)
        AuditRoutes(database: database, audit: audit, accounts: accounts.accounts, callers: callers).add(to: &router)
        HealthRoutes(
            estate: estate,
            version: version,
            startedAt: estate.clock.now,
            parts: others,
            isDraining: isDraining,
            callers: callers
        ).add(to: &router)
        OperationRoutes(database: database, metrics: estate.metrics, isDraining: isDraining, callers: callers).add(to: &router)
    }

    package func addMetrics(to registry: MetricsRegistry) { QueueMeter.add(to: registry) }

    package var jobs: [BackgroundJob] {
        let (housekeeping, nodes) = (housekeeping, nodes)
        return [
            BackgroundJob(every: Housekeeping.interval, trouble: "what has expired cannot be removed") {
                try await housekeeping.run()
            },
            BackgroundJob(
                every: Nodes.interval,
                trouble: "this node cannot keep up with the others on its database",
                work: { try await nodes.beat() },
                end: { try await nodes.leave() }
            ),
        ]
    }
}
