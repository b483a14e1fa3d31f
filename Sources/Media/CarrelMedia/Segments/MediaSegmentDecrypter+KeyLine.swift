// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS

extension MediaSegmentDecrypter {
    /// Prepares a segment of an HLS playlist from the text of its key line (RFC 8216 §4.3.2.4).
    ///
    /// - Parameters:
    ///   - keyLine: the `EXT-X-KEY` line in force; nil if the segment is clear.
    ///   - playlist: the address of the playlist, against which the key's address is resolved; nil for a key line with an
    ///     absolute address.
    ///   - number: the media sequence number, which is the initialization vector if the key line has none (§5.2).
    ///   - initialization: the clear initialization section, for fragmented MP4 with encrypted samples.
    ///   - keys: the key source, called with the address or the content ID of the key line; a `data:` address is the key itself.
    /// - Throws: `missingKey`, `refusedKey`; `wrongKey` if the key has another length; `unsupported` if the method is unknown;
    ///   `Malformed` if the key line or the initialization section is damaged.
    public init(
        keyLine: String?,
        of playlist: String? = nil,
        segment number: UInt64,
        initialization: [UInt8] = [],
        keys: some ContentKeySource
    ) async throws {
        var key = try keyLine.flatMap { line throws(Malformed) in try EncryptionKey.read(line: line) }
        if let address = key?.uri { key?.uri = URIReference.resolve(address, against: playlist) }
        try await self.init(key, segment: number, initialization: initialization, keys: keys, clock: SystemClock())
    }
}
