// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCPIX
import CarrelKeyStore

/// Answers packagers' requests for the keys of their contents.
struct KeyExchange: Sendable {
    let keys: ContentKeys
    /// The public URL of the server, without a slash at the end.
    let publicURL: String?

    /// Bytes of a request, at most.
    static let requestLimit = CPIXLimits.request.bytes

    /// The response to a request: each key is stored before it is sent.
    ///
    /// - Parameters:
    ///   - bytes: the request.
    ///   - dialect: the rules that it follows.
    ///   - actor: the packager, for the audit log.
    /// - Returns: the response, a document in UTF-8.
    /// - Throws: ``CPIXError`` for the request; the errors of ``ContentKeys``.
    func respond(to bytes: [UInt8], as dialect: KeyExchangeRequest.Dialect, for actor: AuditActor) async throws -> [UInt8] {
        let request = try KeyExchangeRequest(reading: bytes.rawSpan, as: dialect)
        let keys = try await keys.keys(request.keyIDs, ofContent: request.contentID, for: actor)
        return try request.response(keys, clearKeyURL: publicURL.map { "\($0)/v1/clear-key" })
    }
}
