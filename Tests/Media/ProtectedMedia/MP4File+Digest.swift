// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelMP4

extension MP4File {
    /// The SHA-256 of the samples of the first track of a kind, concatenated.
    ///
    /// - Parameter kind: `v` or `a`.
    /// - Returns: hexadecimal digits; nil if there is no such track.
    /// - Throws: what the reader throws; `Malformed`.
    package func digest(of kind: String) throws -> String? {
        guard let track = tracks.first(where: { $0.kind == kind }) else { return nil }
        var hash = SHA256.Stream()
        var samples = samples(of: track)
        while let sample = try samples.next() {
            let bytes = try reader.readAll(sample.range)
            hash.update(bytes.rawSpan)
        }
        return Hex.encode(hash.finish())
    }
}
