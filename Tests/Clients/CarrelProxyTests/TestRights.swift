// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMedia
import CarrelProxy
import CarrelThreads

/// A rights service in the memory of a test.
final class TestRights: RightsSource {
    static let token = "AAwAAwAAAxkAAlRXPGAAECBR0l7K6dxdkxUSrLNplXUAcDb87DeJyouvcWEmW_-VnmU"

    private struct State {
        var answers: [RightsAnswer]
        var asked: [String] = []
        var releases = 0
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - first: the first response.
    ///   - more: the following responses; the last one is repeated.
    init(answering first: RightsAnswer, _ more: RightsAnswer...) {
        state = Locked(State(answers: [first] + more))
    }

    /// Rights with these keys.
    init(
        _ keys: some ContentKeySource = GivenKeys(),
        extensions: [StreamRights.Extension] = [],
        end: Instant? = nil
    ) {
        state = Locked(State(answers: []))
        let rights = StreamRights(keys: keys, extensions: extensions, end: end) { [state] in state.withLock { $0.releases += 1 } }
        state.withLock { $0.answers = [.granted(rights)] }
    }

    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        state.withLock { state in
            state.asked.append(url.rightsURL)
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first ?? .refused("no answer")
        }
    }

    /// The addresses at which tokens were redeemed.
    var asked: [String] { state.withLock { $0.asked } }
    /// How often rights were given back.
    var releases: Int { state.withLock { $0.releases } }

    /// A compound URL to content.
    static func url(_ content: String, scheme: String = "https") -> String {
        "\(scheme)://rights.example:8443/hms/ms3/rights/?b=\(token)#\(PercentEncoding.encode(content))"
    }
}

/// A rights service that grants a while after it is asked, even to a session that has ended.
final class SlowRights: RightsSource {
    private let state = Locked((isAsked: false, releases: 0))

    var isAsked: Bool { state.withLock { $0.isAsked } }
    /// How often rights were given back.
    var releases: Int { state.withLock { $0.releases } }

    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        state.withLock { $0.isAsked = true }
        await Task.detached { try? await Task.sleep(for: .seconds(1)) }.value
        return .granted(
            StreamRights { [state] in
                // a request of a task that was cancelled would not be sent
                if !Task.isCancelled { state.withLock { $0.releases += 1 } }
            }
        )
    }
}
