// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient

/// Sends requests to a relay's license server, within its limits. Redirects are never followed.
struct RelayExchange: Sendable {
    private let client: HTTPClient
    private let settings: RelaySettings

    init(_ settings: RelaySettings) {
        self.settings = settings
        client = settings.client()
    }

    func send(_ request: ClientRequest) async -> Result<RelayAnswer, RelayError> {
        var request = request
        request.timeouts = settings.timeouts
        request.maxResponseBytes = Int64(RelayAnswer.maxByteCount)
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            return .failure(failure(error))
        }
        do throws(RelayError) { return .success(try RelayAnswer(response)) } catch { return .failure(error) }
    }

    private func failure(_ error: HTTPClientError) -> RelayError {
        switch error.code {
        case .timeout:
            RelayError(.timeout, "the license server did not respond within \(settings.timeout.components.seconds) s")
        case .tooLarge: RelayError(.answer, "the response of the license server is longer than 64 KiB")
        case .address: RelayError(.unreachable, "the address of the license server is not allowed: see relay.networks")
        case .tls: RelayError(.unreachable, "the certificate of the license server was not accepted")
        default: RelayError(.unreachable, "the license server cannot be reached (\(error.code))")
        }
    }
}
