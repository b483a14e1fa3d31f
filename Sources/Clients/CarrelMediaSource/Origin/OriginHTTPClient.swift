// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia

/// The requests of key sources of a session, under the rules of its origin.
package struct OriginHTTPClient: MediaHTTPClient {
    package let origin: MediaOrigin
    private let note: @Sendable (_ url: String, _ error: ProxyError) -> Void

    /// - Parameters:
    ///   - origin: the origin whose rules apply.
    ///   - note: gets each error, which a key source does not pass on.
    package init(_ origin: MediaOrigin, note: @escaping @Sendable (_ url: String, _ error: ProxyError) -> Void = { _, _ in }) {
        self.origin = origin
        self.note = note
    }

    package func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        do throws(ProxyError) {
            return try await origin.fetch(url, fields: fields, limit: limit)
        } catch {
            note(url, error)
            throw error
        }
    }

    package func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        throw ProxyError(.usage, "keys of a playlist are not requested by POST")
    }
}
