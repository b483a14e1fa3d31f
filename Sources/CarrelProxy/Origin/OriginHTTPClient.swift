import CarrelMedia

/// The requests of key sources of a session, under the rules of its origin.
struct OriginHTTPClient: MediaHTTPClient {
    private let origin: MediaOrigin

    init(_ origin: MediaOrigin) {
        self.origin = origin
    }

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        do throws(ProxyError) {
            return try await origin.fetch(url, fields: fields, limit: limit)
        } catch {
            // a source of keys keeps to itself why it has none
            KeyUse.current?.note(error)
            throw error
        }
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        throw ProxyError(.usage, "keys of a playlist are not requested by POST")
    }
}
