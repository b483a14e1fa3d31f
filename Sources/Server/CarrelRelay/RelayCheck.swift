// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
package import CarrelRights
import CarrelTokens

/// A check of a relay's license server: it requests the certificate, and sends one request that no license server grants.
///
/// Nothing is kept of it, and no server need run.
package struct RelayCheck: Sendable {
    /// The outcome of one call.
    package struct Finding: Sendable, Equatable {
        package enum Verdict: String, Sendable {
            case good
            /// The response was not the response of a license server.
            case wrong
            /// There was no response.
            case failed
        }

        package let call: String
        package let verdict: Verdict
        /// Its response, without its content.
        package let answer: String
        package let duration: Duration
    }

    private let settings: RelaySettings
    private let exchange: RelayExchange

    package init(_ settings: RelaySettings) {
        self.settings = settings
        exchange = RelayExchange(settings)
    }

    /// Makes the calls.
    ///
    /// - Parameter now: the time, from which the message of the request is valid for a minute.
    /// - Returns: a finding for each call.
    /// - Throws: `rights.malformed` if no message can be made.
    package func run(at now: Instant) async throws(RightsError) -> [Finding] {
        var findings: [Finding] = []
        if let url = settings.certificateURL {
            findings.append(
                await call("certificate", ClientRequest(url)) { $0.status == .ok && !$0.body.isEmpty }
            )
        }
        let kid = KeyID(label: Random.uuid(at: now)).uuid
        let entitlement: JSONObject = [
            "type": "entitlement_message", "version": 2, "content_keys_source": ["inline": [["id": .string(kid)]]],
        ]
        let id = "carrel-check-\(Random.uuid(at: now))"
        let end = (now + .seconds(60)).wholeSecond
        let message = try LicenseMessage.sign(entitlement, id: id, from: nil, until: end, under: settings.key)
        let headers: HTTPFields = ["X-AxDRM-Message": message, "Content-Type": "application/octet-stream"]
        let request = ClientRequest(.post, settings.url, headers: headers, body: .bytes(Array("carrel relay check".utf8)))
        findings.append(
            await call("license", request) { ![404, 405, 502, 503, 504].contains($0.status.rawValue) }
        )
        return findings
    }

    private func call(
        _ name: String,
        _ request: ClientRequest,
        _ isGood: (RelayAnswer) -> Bool
    ) async -> Finding {
        let began = ContinuousClock.now
        let result = await exchange.send(request)
        let duration = ContinuousClock.now - began
        switch result {
        case .success(let answer):
            let words = "status \(answer.status.rawValue), \(answer.body.count) bytes"
            return Finding(call: name, verdict: isGood(answer) ? .good : .wrong, answer: words, duration: duration)
        case .failure(let error):
            let verdict: Finding.Verdict = error.code == .answer ? .wrong : .failed
            return Finding(call: name, verdict: verdict, answer: error.message, duration: duration)
        }
    }
}
