import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelStore
import CarrelSubscription
import CarrelThreads
import Glibc

/// `/admin/v1/health` and `/admin/v1/statistics`: how the server is, and what it did lately.
struct HealthRoutes {
    let home: Home
    let database: any Database
    let clock: any WallClock
    let passwords: PasswordHashing
    let leases: Leases
    let activity: Activity
    let version: String
    let startedAt: Instant
    let sources: EntitlementSources
    let audit: AuditGroup
    let isDraining: @Sendable () -> Bool
    let callers: Callers

    func add(to router: inout Router) {
        let bound = DatabaseHealth(database: database)
        router.on(.get, "admin/v1/health") { request, _ in
            let began = ContinuousClock.now
            try await bound.bounded { try await callers.require(request, .readHealth) }
            return .json(.object(await health(within: DatabaseHealth.limit - (.now - began))))
        }
        router.on(.get, "admin/v1/statistics") { request, _ in
            try await bound.bounded { try await callers.require(request, .readHealth) }
            guard let step = Activity.Step(rawValue: request.query["by"] ?? "minute") else {
                throw ServerError(.invalid, "by is \"minute\" or \"hour\"")
            }
            let count = try request.query.integer("count", in: 1...step.kept) ?? 60
            return .json([
                "by": .string(step.rawValue), "slots": .array(activity.last(count, by: step).map(Self.json)),
            ])
        }
    }

    private func health(within limit: Duration) async -> JSONObject {
        let began = ContinuousClock.now
        async let looked = DatabaseHealth(database: database).look(within: limit)
        let database = database
        let unsealed = try? await within(limit) { try await database.read { try AuditStore.unsealedCount(in: $0) } }
        let wait = (ContinuousClock.now - began).components
        let milliseconds = Double(wait.seconds) * 1000 + Double(wait.attoseconds) / 1e15
        let state = await looked
        var answer: JSONObject = [
            "ready": .bool(state == .available && !isDraining()),
            "draining": .bool(isDraining()),
            "version": .string(version),
            "environment": .string(home.environment.rawValue),
            "startedAt": .string(startedAt.description),
            "now": .string(clock.now.description),
            "database": [
                "engine": .string("\(database.engine)"), "answers": .bool(state != .away),
                "state": .string(state.rawValue),
                "milliseconds": .real((milliseconds * 100).rounded() / 100),
                "schema": .integer(Schema.migrations.count),
            ],
            "queues": [
                "passwords": .integer(passwords.waiting), "auditUnsealed": unsealed.map { .integer($0) } ?? .null,
                "auditUnwritten": .integer(audit.waiting),
            ],
            "listeners": .integer(leases.count(at: clock.now)),
            "sources": .array(sources.inOrder.map { .object(Self.json($0)) }),
        ]
        if let disk = Self.disk(home.directory) {
            answer["disk"] = ["freeBytes": .integer(disk.free), "totalBytes": .integer(disk.total)]
        }
        return answer
    }

    /// Bytes on the file system of a path that are free for us, and all of them.
    private static func disk(_ path: String) -> (free: Int64, total: Int64)? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let block = Int64(clamping: status.f_frsize)
        return (Int64(clamping: status.f_bavail) * block, Int64(clamping: status.f_blocks) * block)
    }

    /// A source by its name; one that asks a system upstream says how that is. None makes the server unready.
    private static func json(_ source: any EntitlementSource) -> JSONObject {
        var object: JSONObject = ["name": .string(source.name)]
        guard let health = source.health else { return object }
        var until: Instant?
        (object["state"], until) =
            switch health.state {
            case .available: ("available", nil)
            case .unavailable(let end): ("unavailable", end)
            case .probing: ("probing", nil)
            }
        object["failPolicy"] = .string(health.policy.word)
        object["asking"] = .integer(health.inFlight)
        object["unavailableUntil"] = .init(until)
        object["answeredAt"] = .init(health.answeredAt)
        object["failedAt"] = .init(health.failedAt)
        object["failure"] = .init(health.failure)
        return object
    }

    private static func json(_ slot: Activity.Slot) -> JSON {
        var object: JSONObject = ["at": .string(slot.at.description)]
        for series in Activity.Series.allCases { object[series.rawValue] = .integer(slot.counts[series] ?? 0) }
        var refusals: JSONObject = [:]
        for (reason, count) in slot.refusals.sorted(by: { $0.key < $1.key }) { refusals[reason] = .integer(count) }
        object["refusals"] = .object(refusals)
        return .object(object)
    }
}
