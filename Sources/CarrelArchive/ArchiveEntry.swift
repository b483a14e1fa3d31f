/// One file, folder or link of an archive, by its directory.
public struct ArchiveEntry: Sendable, Hashable {
    /// Its place in the directory, from 0.
    public let index: Int
    /// The name as it is stored.
    public let rawName: [UInt8]
    /// The name as text: UTF-8, or code page 437 where that is what it is. Relative, with `/` between its parts; of a folder with
    /// one at the end.
    public let name: String
    /// Bytes that it declares to have; what comes out decides.
    public let size: Int64
    /// Bytes that it takes in the archive.
    public let packedSize: Int64
    /// Whether it needs a password.
    public let isEncrypted: Bool
    /// Whether it is a symbolic link, whose content is where it points. Never follow it.
    public let isSymbolicLink: Bool

    /// Whether it is a folder.
    public var isDirectory: Bool { name.utf8.last == UInt8(ascii: "/") }
}
