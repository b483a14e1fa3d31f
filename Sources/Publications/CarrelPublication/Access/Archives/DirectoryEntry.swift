// SPDX-License-Identifier: Apache-2.0

import CarrelArchive

/// An entry of a ZIP archive, as its central directory describes it (APPNOTE §4.3.12).
struct DirectoryEntry: Sendable {
    let path: ResourcePath
    let rawName: [UInt8]
    /// The offset of its local header.
    let offset: Int64
    let packedSize: Int64
    let size: Int64
    /// 0 is stored, 8 deflated (APPNOTE §4.4.5).
    let method: UInt16
    let flags: UInt16
    /// When it changed, as MS-DOS counts.
    let time: UInt16
    /// The CRC-32 of the unpacked bytes; 0 if AES authenticates them instead.
    let crc: UInt32
    let aes: AESEncryption?
    var isEncrypted: Bool { flags & 1 != 0 }
}
