// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelWebAPI
import Glibc

/// `/admin/v1/health` and `/admin/v1/statistics`: the server's health and recent activity.
struct HealthRoutes {
    let context: ServiceContext
    let version: String
    let startedAt: Instant
    /// The capabilities that say how they are.
    let parts: [any Capability]
    let isDraining: @Sendable () -> Bool
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        let bound = DatabaseHealth(database: context.database)
        router.on(.get, "admin/v1/health") { request, _ in
            let began = ContinuousClock.now
            try await bound.bounded { try await callers.require(request, .readHealth) }
            return .json(.object(await health(within: DatabaseHealth.limit - (.now - began))))
        }
        router.on(.get, "admin/v1/statistics") { request, _ in
            try await bound.bounded { try await callers.require(request, .readHealth) }
            guard let step = Activity.Step(rawValue: request.query["by"] ?? "minute") else {
                throw ServerError(.invalid, "by must be \"minute\" or \"hour\"")
            }
            let count = try request.query.integer("count", in: 1...step.slotCount) ?? 60
            return .json([
                "by": .string(step.rawValue), "slots": .array(context.activity.last(count, by: step).map(Self.json)),
            ])
        }
    }

    private func health(within limit: Duration) async -> JSONObject {
        let (began, now) = (ContinuousClock.now, context.clock.now)
        async let looked = DatabaseHealth(database: context.database).look(within: limit)
        async let warned = parts.warnings(at: now, within: limit)
        let told = await withTaskGroup(of: (Int, JSONObject).self) { group in
            for (place, part) in parts.enumerated() { group.addTask { (place, await part.health(at: now, within: limit)) } }
            return await group.reduce(into: [(Int, JSONObject)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        let wait = (ContinuousClock.now - began).components
        let milliseconds = Double(wait.seconds) * 1000 + Double(wait.attoseconds) / 1e15
        let state = await looked
        var answer: JSONObject = [
            "ready": .bool(state == .available && !isDraining()),
            "draining": .bool(isDraining()),
            "version": .string(version),
            "environment": .string(context.home.environment.rawValue),
            "startedAt": .string(startedAt.description),
            "now": .string(now.description),
            "database": [
                "engine": .string("\(context.database.engine)"), "answers": .bool(state != .away),
                "state": .string(state.rawValue),
                "milliseconds": .real((milliseconds * 100).rounded() / 100),
                "schema": .integer(Schema.migrations.count),
            ],
        ]
        for (name, value) in told.joined() {
            guard var known = answer[name]?.object, let more = value.object else {
                answer[name] = value
                continue
            }
            for (name, value) in more { known[name] = value }
            answer[name] = .object(known)
        }
        let warnings = await warned
        if !warnings.isEmpty { answer["warnings"] = .array(warnings.map { .string($0) }) }
        if let disk = Self.disk(context.home.directory) {
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

    private static func json(_ slot: Activity.Slot) -> JSON {
        var object: JSONObject = ["at": .string(slot.at.description)]
        for series in Activity.Series.allCases { object[series.rawValue] = .integer(slot.counts[series] ?? 0) }
        var refusals: JSONObject = [:]
        for (reason, count) in slot.refusals.sorted(by: { $0.key < $1.key }) { refusals[reason] = .integer(count) }
        object["refusals"] = .object(refusals)
        return .object(object)
    }
}

extension [any Capability] {
    /// The warnings of all capabilities, in their order.
    func warnings(at now: Instant, within limit: Duration) async -> [String] {
        await withTaskGroup(of: (Int, [String]).self) { group in
            for (place, part) in enumerated() { group.addTask { (place, await part.warnings(at: now, within: limit)) } }
            return await group.reduce(into: [(Int, [String])]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }
}
