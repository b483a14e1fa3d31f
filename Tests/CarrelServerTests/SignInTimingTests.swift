import CarrelBytes
import CarrelCrypto
import CarrelServer
import Testing

struct `The time that signing in takes` {
    /// Milliseconds, the middle of many.
    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    @Test(.enabled(if: longRun, "only with CARREL_LONG=1"))
    func `does not tell who has an account`() async throws {
        let test = try await TestService()
        let actor = Actor("operator")
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: actor)
        let suspended = try await test.service.desk.create("suspended", password: "correct horse battery", by: actor)
        try await test.service.desk.setSuspended(true, suspended.id, by: actor)
        _ = try await test.service.desk.create("linked", by: actor)
        let names = ["nobody", "alice", "suspended", "linked"]
        var times: [String: [Double]] = [:]
        let clock = ContinuousClock()
        for round in 0..<300 {
            for name in names {
                // another minute each time, so that nobody is slowed down
                test.clock.advance(by: .seconds(24 * 3600))
                let took = try await clock.measure {
                    let reply = try await test.ask("sign_in", ["username": name, "password": "wrong \(round)"])
                    #expect(reply.xml.contains("notrecognised"))
                }
                times[name, default: []].append(took / .milliseconds(1))
            }
        }
        let medians = times.mapValues(median)
        let reference = try #require(medians["nobody"])
        print("medians in ms: \(medians)")
        for (name, time) in medians { #expect(abs(time / reference - 1) < 0.05, "\(name) takes \(time) ms, nobody \(reference)") }
    }
}
