// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelBytes
import CarrelMedia
import CarrelThreads

/// A server of keys that keeps what it was sent, and may wait for a signal before it responds.
final class KeyServer: MediaHTTPClient {
    struct Request: Sendable {
        var url: String
        var fields: [MediaHTTPField]
        var body: [UInt8]
        var limit: Int
    }

    private struct Unreachable: Error {}

    let requests = Locked<[Request]>([])
    private let response: @Sendable (Request) -> MediaHTTPResponse?
    private let gate: (@Sendable () async -> Void)?

    /// - Parameters:
    ///   - gate: the server responds when it returns.
    ///   - response: of each request; nil if the server cannot be reached.
    init(gate: (@Sendable () async -> Void)? = nil, _ response: @escaping @Sendable (Request) -> MediaHTTPResponse?) {
        self.gate = gate
        self.response = response
    }

    var count: Int { requests.withLock { $0.count } }

    private func answer(_ request: Request) async throws -> MediaHTTPResponse {
        requests.withLock { $0.append(request) }
        await gate?()
        guard let response = response(request) else { throw Unreachable() }
        return response
    }

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await answer(Request(url: url, fields: fields, body: [], limit: limit))
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await answer(Request(url: url, fields: fields, body: body, limit: limit))
    }
}

extension ContentKeySource {
    /// The bytes of a key; nil unless it is granted.
    func bytes(_ name: ContentKeyName) async -> [UInt8]? {
        guard case .granted(let grant) = await key(name) else { return nil }
        return grant.key.withBytes { [UInt8](copying: $0) }
    }

    /// The reason of a refusal; nil if there is none.
    func refusal(_ name: ContentKeyName) async -> String? {
        guard case .refused(let reason) = await key(name) else { return nil }
        return reason
    }

    /// Whether the source does not know the key.
    func isUnknown(_ name: ContentKeyName) async -> Bool {
        guard case .unknown = await key(name) else { return false }
        return true
    }
}
