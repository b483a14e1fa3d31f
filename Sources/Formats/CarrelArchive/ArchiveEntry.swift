// SPDX-License-Identifier: Apache-2.0

/// One file, folder or link of an archive, by its directory.
package struct ArchiveEntry: Sendable, Hashable {
    /// Its place in the directory, from 0.
    package let index: Int
    /// The name verbatim.
    package let rawName: [UInt8]
    /// The name as text: UTF-8 or code page 437. Relative, with `/` as the separator, and a trailing one for a folder.
    package let name: String
    /// The declared size in bytes; the actual output decides.
    package let size: Int64
    /// Bytes that it takes in the archive.
    package let packedSize: Int64
    /// Whether it needs a password.
    package let isEncrypted: Bool
    /// Whether it is a symbolic link, whose content is its target. Never follow it.
    package let isSymbolicLink: Bool

    /// Whether it is a folder.
    package var isDirectory: Bool { name.utf8.last == UInt8(ascii: "/") }
}
