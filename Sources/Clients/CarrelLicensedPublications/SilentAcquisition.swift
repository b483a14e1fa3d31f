// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication

/// The request for a token at the address that a DCF names for a silent acquisition of rights (OMA DRM Content Format 2.0, header
/// `Silent`): without a question to the reader, and without credentials.
struct SilentAcquisition: Sendable {
    private let client: HTTPClient
    private let timeLimit: Duration

    /// Bytes of a response, at most.
    private static let responseLimit: Int64 = 64 << 10
    static let timeLimit = Duration.seconds(10)

    /// - Parameters:
    ///   - client: sends the request. The address comes from the file: it must connect to public addresses alone.
    ///   - timeLimit: the time for the whole request.
    init(_ client: HTTPClient, timeLimit: Duration) {
        self.client = client
        self.timeLimit = timeLimit
    }

    /// Requests a token.
    ///
    /// - Parameter file: the file.
    /// - Returns: the token; nil if the file names no address.
    /// - Throws: `opening.unavailable` if the address is not https, or gives no token.
    func token(for file: ProtectedFile) async throws(Publication.OpeningError) -> String? {
        guard let address = file.object.headers.silentAcquisition?.address, !address.isEmpty else { return nil }
        guard address.lowercased().hasPrefix("https://") else { throw Self.failure("its address is not https") }
        var request = ClientRequest(
            address,
            timeouts: ClientTimeouts(connect: timeLimit, total: timeLimit, stall: timeLimit),
            maxResponseBytes: Self.responseLimit
        )
        request.maxRedirects = 3
        let response: ClientResponse
        do throws(HTTPClientError) { response = try await client.send(request) } catch {
            throw Self.failure("\(error)")
        }
        guard response.status == .ok else { throw Self.failure("the server answered \(response.status.rawValue)") }
        guard let text = String(validating: response.body, as: UTF8.self), !text.isEmpty else {
            throw Self.failure("the server sent no token")
        }
        return text
    }

    /// The error of an acquisition that gave no license.
    static func failure(_ reason: String) -> Publication.OpeningError {
        Publication.OpeningError(.unavailable, "the license that the file names cannot be acquired: \(reason)")
    }
}
