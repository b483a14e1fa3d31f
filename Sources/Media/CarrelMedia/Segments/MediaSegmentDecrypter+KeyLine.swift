// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS

extension MediaSegmentDecrypter {
    /// Prepares a segment of an HLS playlist by the text of its key line (RFC 8216 §4.3.2.4).
    ///
    /// - Parameters:
    ///   - keyLine: the `EXT-X-KEY` line in force; nil where the segment is in the clear.
    ///   - playlist: the address of the playlist, against which that of the key is resolved; nil for a key line with an absolute one.
    ///   - number: the media sequence number, which is the initialization vector where the key line has none (§5.2).
    ///   - initialization: the initialization section in the clear, of fragmented MP4 with encrypted samples.
    ///   - keys: has the key, by the address or the content id of the key line; a `data:` address is the key itself.
    /// - Throws: `missingKey`, `refusedKey`; `wrongKey` when the key has another length; `unsupported` when the method is not known;
    ///   `Malformed` when the key line or the initialization section is damaged.
    public init(
        keyLine: String?,
        of playlist: String? = nil,
        segment number: UInt64,
        initialization: [UInt8] = [],
        keys: some ContentKeySource
    ) async throws {
        var key = try keyLine.flatMap { line throws(Malformed) in try EncryptionKey.read(line: line) }
        if let address = key?.uri { key?.uri = URIReference.resolve(address, against: playlist) }
        try await self.init(key, segment: number, initialization: initialization, keys: keys)
    }
}
