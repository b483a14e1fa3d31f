// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient

/// Sends a request upstream and returns the body of a successful response.
struct UpstreamExchange: Sendable {
    let client: HTTPClient
    let timeouts: ClientTimeouts
    let maxAnswerBytes: Int64

    func send(_ request: ClientRequest) async throws(UpstreamError) -> [UInt8] {
        var request = request
        request.timeouts = timeouts
        request.maxResponseBytes = maxAnswerBytes
        request.maxRedirects = 0
        request.headers.setDefault("Accept", "text/xml, application/xml;q=0.9, */*;q=0.1")
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            switch error.code {
            case .cancelled: throw UpstreamError(.cancelled, "the caller gave up waiting")
            case .tooLarge: throw UpstreamError(.answer, "the answer is longer than \(maxAnswerBytes) bytes")
            case .url, .header: throw UpstreamError(.address, "the request cannot be made")
            default: throw UpstreamError(.unreachable, "the upstream system cannot be reached (\(error.code))")
            }
        }
        let status = response.status.rawValue
        guard (200..<300).contains(status) else {
            throw UpstreamError(.status, "the upstream system answered with status \(status)", status: status)
        }
        return response.body
    }
}
