// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelBytes
import CarrelCommandLine
import CarrelPlayer

struct DeviceUpdate: ReaderCommand {
    var engine = ReaderEngine()

    static let name = "update"
    static let abstract = "Ask the server for the time, its keys and what is revoked; report plays and releases."
    static let discussion = """
        After the clock of this device was set back, licenses that are limited in time wait for this. Apps do it by themselves when they have \
        a network.
        """
    static let parameters: [Parameter<Self>] = Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let (time, reported) = try await engine.use(console) { engine in
            try await engine.updateSecurityData()
            return (try await engine.trustedTime(), try await engine.uploadPlays())
        }
        if engine.json {
            return console.print([
                "time": .string(time.instant.description), "certainty": .string(time.certainty), "reported": .integer(reported),
            ])
        }
        console.print("time \(time.instant), \(time.certainty)")
        console.print("plays reported of \(reported) licenses")
    }
}
