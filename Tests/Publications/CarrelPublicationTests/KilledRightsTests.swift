// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelTesting
import Glibc
import Testing

@Suite("A process that is killed while it counts rights")
struct KilledRightsTests {
    private static let times = unsafe getenv("CARREL_LONG") == nil ? 12 : 200

    private struct Use: Hashable {
        let request: String
        let amount: Int
    }

    @Test(.timeLimit(.minutes(10)))
    func `loses no use that was granted, and counts none twice`() async throws {
        let directory = TemporaryDirectory()
        let file = directory.file("rights.db")
        var granted = 0
        for time in 0..<Self.times {
            let publication = "license-\(time)"
            // microseconds from when the database is open
            let delay = Int.random(in: 1000...(time.isMultiple(of: 3) ? 30_000 : 200_000))
            let program = try OpenedElsewhere.program()
            let result = try await runProcess([program, "--count", file, publication, "\(delay)"])
            #expect(result.status == .signaled(SIGKILL), "\(result.errorText)")
            let (asked, answered) = (uses("+", result.text), uses("=", result.text))
            granted += answered.count
            let store = try DatabaseUserRightsStore(path: file)
            let used = try await store.used(.copy, of: publication)
            let (least, most) = (answered.map(\.amount).reduce(0, +), asked.map(\.amount).reduce(0, +))
            #expect((least...most).contains(used), "\(least) granted, \(used) counted, \(most) asked for")
            // a caller without a response repeats its request, and a caller with one may do so too
            for use in answered { try await repeated(use, publication, store) }
            #expect(try await store.used(.copy, of: publication) == used)
            for use in asked { try await repeated(use, publication, store) }
            #expect(try await store.used(.copy, of: publication) == most)
            await store.close()
        }
        #expect(granted > 0)
    }

    private func repeated(_ use: Use, _ publication: String, _ store: DatabaseUserRightsStore) async throws {
        let isGranted = try await store.use(
            use.amount,
            of: .copy,
            publication: publication,
            limit: .max,
            requestID: use.request
        )
        #expect(isGranted)
    }

    private func uses(_ sign: String, _ text: String) -> Set<Use> {
        var uses: Set<Use> = []
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ").map(String.init)
            if parts.count == 3, parts[0] == sign, let amount = Int(parts[2]) {
                uses.insert(Use(request: parts[1], amount: amount))
            }
        }
        return uses
    }
}
