// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelRights

extension PlayerEngine {
    /// A certificate that came in a file.
    public struct Insertion: Sendable, Equatable {
        /// The personalised player.
        public let identity: Identity
        /// SHA-256 of the root's certificate, in hexadecimal digits: at first contact the file decides which root is trusted, so
        /// it should be compared with the service's.
        public let rootFingerprint: String
        /// Whether the root was not trusted before.
        public let isFirstContact: Bool
    }

    /// The maximum size of a bundle, in bytes: most of it is the revocation list.
    public static let maxBundleByteCount = 16 << 20

    /// Writes a signed request for a certificate, to be taken to the service as a file. A later request replaces it.
    ///
    /// - Returns: the request, a JWS.
    /// - Throws: ``PlayerError``.
    public func offlineRequest() async throws(PlayerError) -> String {
        let nonce = PersonalizationRequest.makeOfflineNonce()
        if let state { try requireOriginal(state) }
        try await update { $0.openRequest = nonce }
        guard let state else { throw PlayerError(.store, "the player has no state") }
        try requireOriginal(state)
        let (signing, agreement) = try await keys()
        return try await request(nonce, signing, agreement, state.fingerprint)
    }

    /// Takes a certificate from the file that the service made for ``offlineRequest()``.
    ///
    /// A bundle for other keys, another request, or another root than the trusted one is refused, and so is an older revocation
    /// list.
    ///
    /// - Parameter bundle: the file's bytes, at most ``maxBundleByteCount``.
    /// - Returns: the player, and the root's fingerprint.
    /// - Throws: ``PlayerError``: `player.rejected` for a bundle that is not for this player.
    public func insert(bundle: [UInt8]) async throws(PlayerError) -> Insertion {
        guard bundle.count <= Self.maxBundleByteCount,
            let json = try? JSON.parse(bundle.rawSpan, limits: JSONLimits(depth: 12, byteCount: Self.maxBundleByteCount))
        else { throw PlayerError(.rejected, "the bundle is not JSON: is it the file that 'carrel player certify' wrote?") }
        guard let state, let nonce = state.openRequest else {
            throw PlayerError(.rejected, "this player waits for no bundle: write a request first")
        }
        try requireOriginal(state)
        let isFirst = state.answer == nil
        let anchor = try await anchor(ofOutdated: true)
        let (signing, _) = try await keys()
        let answer = try verified(json, nonce: nonce, signing, known: self.state?.answer)
        _ = try ServiceTrust(answer, anchor: anchor)
        let named = json["server"]?.string.flatMap { try? PlayerServer($0, client: client, listener: listener).base }
        try await update { state in
            state.answer = ServiceTrust.newest(answer, state.answer)
            state.openRequest = nil
            if state.server.isEmpty, let named { state.server = named }
        }
        // the store's clock begins with the signed time
        _ = try await trust()
        guard let identity else { throw PlayerError(.rejected, "the bundle's certificate cannot be read") }
        return Insertion(
            identity: identity,
            rootFingerprint: Hex.encode(SHA256.hash(answer.trust.root.rawSpan)),
            isFirstContact: isFirst
        )
    }
}
