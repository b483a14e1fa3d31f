// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelEntitlementSources
import CarrelJSON
import CarrelServer
import CarrelTesting
import CarrelThreads
import CarrelUpstream

/// An upstream system with a JSON interface that returns a test's responses verbatim.
package final class ToldUpstream: Sendable {
    private struct State {
        /// The responses by call.
        var answers: [String: (status: Int, text: String)] = [:]
        var calls: [String] = []
        /// Says nothing as long as this holds.
        var isHeld = false
    }

    private let port: UInt16
    private let server: LoopbackServer
    private let state: Locked<State>

    /// - Parameter answers: by call.
    package init(_ answers: [String: String] = [:]) {
        let state = Locked(State(answers: answers.mapValues { (200, $0) }))
        self.state = state
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let body = request.body
                let call = (try? JSON.parse(body.rawSpan))?["call"]?.string ?? ""
                state.withLock { $0.calls.append(call) }
                while state.withLock(\.isHeld) { _ = connection.waitToRead(milliseconds: 5) }
                let answer = state.withLock { $0.answers[call] } ?? (status: 500, text: "")
                connection.respond(answer.status, body: Array(answer.text.utf8))
            }
        }
        port = server.port
    }

    /// Says this to a call from now on; a call of which nothing was told fails.
    package func answer(_ call: String, _ text: String, status: Int = 200) {
        state.withLock { $0.answers[call] = (status, text) }
    }

    /// Fails whatever it is asked.
    package func fail() { state.withLock { $0.answers = [:] } }

    package func hold(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }

    /// The calls so far.
    package var calls: [String] { state.withLock(\.calls) }

    package func settings(_ name: String = "bureau") -> UpstreamSettings {
        let secret = Secret([UInt8](repeating: 7, count: 32))
        return UpstreamSettings(name: name, .webhook(url: "http://127.0.0.1:\(port)/", secret: secret))
    }
}
