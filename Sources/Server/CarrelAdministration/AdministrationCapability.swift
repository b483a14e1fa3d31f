// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelMetrics
import CarrelJSON
package import CarrelStore
package import CarrelWebAPI

/// Health, metrics, keys, the audit log for staff, explanations, export and erasure of personal data.
package struct AdministrationCapability: Capability {
    package let nodes: Nodes
    package let erasure: Erasure
    package let export: PersonalExport
    package let register: PersonalRegister
    package let housekeeping: Housekeeping
    private let context: ServiceContext
    private let others: [any Capability]
    private let accounts: AccountsCapability
    private let audit: Audit
    private let explanations: ExplanationRoutes
    private let version: String
    private let isDraining: @Sendable () -> Bool

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - others: all other capabilities.
    ///   - accounts: authenticates callers.
    ///   - audit: the audit log.
    ///   - explanations: the sources of explanations.
    ///   - version: the version of the running program.
    ///   - isDraining: whether the server is about to stop.
    package init(
        _ context: ServiceContext,
        beside others: [any Capability],
        _ accounts: AccountsCapability,
        _ audit: Audit,
        explanations: Explanations,
        version: String,
        isDraining: @escaping @Sendable () -> Bool
    ) {
        self.context = context
        self.others = others
        self.accounts = accounts
        self.audit = audit
        self.version = version
        self.isDraining = isDraining
        let (database, clock) = (context.database, context.clock)
        nodes = Nodes(home: context.home, database: database, clock: clock, master: context.master)
        register = PersonalRegister(others, Self.tables)
        erasure = Erasure(database: database, clock: clock, lifecycle: accounts.lifecycle, expunging: context.expunging)
        export = PersonalExport(
            database: database,
            clock: clock,
            register: register,
            audit: audit.group,
            lifecycle: accounts.lifecycle
        )
        housekeeping = Housekeeping(
            database: database,
            clock: clock,
            expunging: context.expunging,
            cleanups: others.flatMap(\.cleanups)
        )
        self.explanations = ExplanationRoutes(explanations, audit: audit.group, callers: accounts.callers)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "secrets": .nothing("the server's own secrets, wrapped"),
        "master_keys": .nothing("fingerprints of the server's own keys"),
        "nodes": .nothing("the servers on this database; deleted minutes after their last heartbeat"),
        "installation": .nothing("a random id"),
        "schema_version": .nothing("the version of the tables"),
    ]
    package static let statements =
        NodeStore.statements + SecretStore.statements + MasterKeyStore.statements + InstallationStore.statements

    package func addRoutes(to router: inout Router) {
        let (callers, database) = (accounts.callers, context.database)
        MasterKeyRoutes(
            database: database,
            master: context.master,
            nodes: nodes,
            rotation: KeyRotation(
                home: context.home,
                database: database,
                clock: context.clock,
                columns: others.flatMap(\.wrappedKeys)
            ),
            callers: callers
        ).add(to: &router)
        PrivacyRoutes(desk: accounts.desk, export: export, erasure: erasure, register: register, callers: callers)
            .add(to: &router)
        explanations.add(to: &router)
        AuditRoutes(database: database, audit: audit, accounts: accounts.accounts, callers: callers).add(to: &router)
        HealthRoutes(
            context: context,
            version: version,
            startedAt: context.clock.now,
            parts: others,
            isDraining: isDraining,
            callers: callers
        ).add(to: &router)
        OperationRoutes(
            database: database,
            metrics: context.metrics,
            parts: others,
            clock: context.clock,
            isDraining: isDraining,
            callers: callers
        ).add(to: &router)
    }

    package func addMetrics(to registry: MetricsRegistry) { QueueMeter.add(to: registry) }

    package var jobs: [BackgroundJob] {
        let (housekeeping, nodes) = (housekeeping, nodes)
        return [
            BackgroundJob(every: Housekeeping.interval, trouble: "cannot delete expired data") {
                try await housekeeping.run()
            },
            BackgroundJob(
                every: Nodes.interval,
                trouble: "cannot follow the changes that other nodes make to the database",
                work: { try await nodes.beat() },
                end: { try await nodes.leave() }
            ),
        ]
    }
}
