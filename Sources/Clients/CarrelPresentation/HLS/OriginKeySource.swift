// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// The keys at the addresses of key lines, from the origin of a session: servers for a remote source, files below its folder for a local one.
struct OriginKeySource: SessionKeySource {
    private let origin: MediaOrigin
    private let remote: HLSKeySource
    /// The last error of each address: one request may have many responses that wait for its key.
    private let refusals = Locked(LRUCache<String, ProxyError>(limit: refusalLimit))

    /// Bytes of a key, at most.
    private static let keyLimit = 32
    /// Errors of addresses that are kept, at most.
    private static let refusalLimit = 64

    init(_ origin: MediaOrigin) {
        self.origin = origin
        let refusals = refusals
        let client = OriginHTTPClient(origin) { url, error in refusals.withLock { $0.insert(error, for: url, cost: 1) } }
        remote = HLSKeySource(client: KeyServerClient(client: client))
    }

    func key(_ name: ContentKeyName, for use: KeyUse) async -> ContentKeyAnswer {
        guard case .address(let address) = name else { return .unknown }
        guard !origin.isRemote else {
            let answer = await remote.key(name)
            if case .refused = answer, let refusal = refusals.withLock({ $0[address] }) { use.note(refusal) }
            return answer
        }
        // an address of another kind is not a file
        guard LocalReference.isAbsolute(address) || MediaOrigin.isURL(address) || address.lowercased().hasPrefix("file:") else {
            return .unknown
        }
        let bytes: [UInt8]
        do throws(ProxyError) { bytes = try await origin.load(address, limit: Self.keyLimit).bytes } catch {
            let advice = "Pass the key itself: a playlist on this machine names keys in its own folder alone."
            let refusal = error.code == .address ? ProxyError(.address, error.message, recommendation: advice) : error
            use.note(refusal)
            return .refused(error.message)
        }
        guard bytes.count == 16 || bytes.count == 32 else {
            return .refused("the file has \(bytes.count) bytes, and keys have 16 or 32")
        }
        return .granted(ContentKeyGrant(key: Secret(bytes)))
    }
}
