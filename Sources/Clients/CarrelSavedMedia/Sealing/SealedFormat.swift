// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The format of sealed files: a header, then blocks of 64 KiB, each encrypted with AES-256-GCM.
///
/// The key of a file is derived from the package key, the id of the package, the name of the file, and the salt in its header. The
/// nonce of a block is its number and whether it is the last one, so blocks cannot be moved, removed or added, and files cannot
/// take each other's place. There is always a last block, which is empty only if the content is.
package enum SealedFormat {
    /// `CarrelSM`, and the version 1 as 4 bytes.
    static let magic: [UInt8] = Array("CarrelSM".utf8) + [0, 0, 0, 1]
    static let saltLength = 20
    /// Bytes of the header: magic, version, salt.
    package static let headerLength = 32
    /// Bytes of content in each block but the last.
    package static let blockLength = 64 << 10
    /// Bytes of a stored block.
    static let storedBlockLength = blockLength + AESGCM.tagByteCount

    /// Bytes of a sealed file.
    ///
    /// - Parameter content: bytes of the content.
    /// - Returns: bytes of the file.
    package static func storedLength(ofContent content: Int64) -> Int64 {
        let blocks = max(1, (content + Int64(blockLength) - 1) / Int64(blockLength))
        return Int64(headerLength) + content + blocks * Int64(AESGCM.tagByteCount)
    }

    /// Bytes of the content of a sealed file.
    ///
    /// - Parameter stored: bytes of the file.
    /// - Returns: nil if no sealed file has this size.
    package static func contentLength(ofStored stored: Int64) -> Int64? {
        let body = stored - Int64(headerLength)
        guard body >= Int64(AESGCM.tagByteCount) else { return nil }
        let blocks = (body + Int64(storedBlockLength) - 1) / Int64(storedBlockLength)
        let last = body - (blocks - 1) * Int64(storedBlockLength)
        guard last > Int64(AESGCM.tagByteCount) || blocks == 1 && last == Int64(AESGCM.tagByteCount) else { return nil }
        return body - blocks * Int64(AESGCM.tagByteCount)
    }

    /// The nonce of a block: 4 bytes that are 1 for the last block and 0 otherwise, and the number in 8 bytes.
    static func nonce(_ block: Int64, isLast: Bool) -> [UInt8] {
        [0, 0, 0, isLast ? 1 : 0] + (0..<8).map { UInt8(truncatingIfNeeded: block >> (56 - 8 * Int64($0))) }
    }
}
