// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
import CarrelBytes
import CLinux
import CarrelCrypto
import CarrelFiles
import Glibc

/// A folder that appears complete or not at all: it is written under a hidden name in the same parent folder, then renamed.
package final class PackageFolder {
    /// Its place.
    package let path: String
    /// The folder it is written to.
    package let hidden: String
    private var isCommitted = false
    /// Whether an earlier package is replaced.
    private let replaces: Bool
    /// Folders within it, which are synced before it is renamed.
    private var subfolders: Set<String> = []

    /// The multivariant playlist within a package.
    package static let playlistName = "master.m3u8"
    /// The manifest within a package.
    package static let manifestName = "manifest.mpd"

    /// Begins a folder.
    ///
    /// - Parameters:
    ///   - path: its place; nothing, or an empty folder, may be there.
    ///   - replaces: whether a package may be there too, which is removed at the end; any other folder is refused.
    /// - Throws: `unwritable`.
    package init(_ path: String, replaces: Bool = false) throws(MediaError) {
        self.replaces = replaces
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        self.path = String(trimmed)
        let parts = trimmed.split(separator: "/")
        guard let name = parts.last, name != ".", name != ".." else {
            throw MediaError(.unwritable, "\(path) cannot be written: name a folder that does not exist yet")
        }
        let parent = trimmed.dropLast(name.count)
        hidden = "\(parent).\(name).carrel-\(Hex.encode(Random.bytes(8)))"
        var status = stat()
        if unsafe stat(self.path, &status) == 0 {
            let names = status.st_mode & S_IFMT == S_IFDIR ? Self.names(in: self.path) : nil
            guard let names else { throw MediaError(.unwritable, "\(path) exists already, and is not a folder") }
            guard names.isEmpty || replaces else {
                throw MediaError(.unwritable, "\(path) exists already: name another folder, or replace it with --force")
            }
            guard names.isEmpty || Self.isPackage(names) || names.allSatisfy({ $0.hasSuffix(".dcf") }) else {
                throw MediaError(.unwritable, "\(path) is not a package, and is not replaced: name another folder, or remove it")
            }
        }
        guard unsafe mkdir(hidden, 0o755) == 0 else {
            throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())")
        }
    }

    /// The names in a folder; nil if it cannot be read.
    private static func names(in path: String) -> [String]? {
        guard let folder = unsafe opendir(path) else { return nil }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Whether a folder with these names is a package, and has nothing else.
    private static func isPackage(_ names: [String]) -> Bool {
        let manifests = [Self.playlistName, Self.manifestName]
        return names.contains(where: manifests.contains)
            && names.allSatisfy { name in
                let stem = name.split(separator: ".")[0]
                let parts = stem.split(separator: "-")
                let isTrack = parts.count > 1 && ["video", "audio", "text"].contains(parts[0]) && Int(parts[1]) != nil
                return manifests.contains(name) || stem == "thumbnails" || isTrack
            }
    }

    /// Whether a folder with these names may be replaced: a package, or DCF files that the new folder contains too.
    private func mayReplace(_ names: [String]) -> Bool {
        guard !names.isEmpty, !Self.isPackage(names) else { return true }
        let own = Set(Self.names(in: hidden) ?? [])
        return names.allSatisfy { $0.hasSuffix(".dcf") && own.contains($0) }
    }

    deinit {
        if !isCommitted { unsafe clinux_remove_tree(hidden) }
    }

    /// Begins a file.
    ///
    /// - Parameter name: its path within the folder; folders on the way are made.
    /// - Returns: the file, open for writing.
    /// - Throws: `unwritable`.
    package func create(_ name: String) throws(MediaError) -> PackageFile {
        var at = hidden
        for part in name.split(separator: "/").dropLast() {
            at += "/\(part)"
            subfolders.insert(at)
            guard unsafe mkdir(at, 0o755) == 0 || errno == EEXIST else {
                throw MediaError(.unwritable, "\(path)/\(name) cannot be written: \(systemReason())")
            }
        }
        return try PackageFile("\(hidden)/\(name)", shownAs: "\(path)/\(name)")
    }

    /// Writes a whole file.
    package func write(_ name: String, _ bytes: [UInt8]) throws(MediaError) {
        let file = try create(name)
        try file.write(bytes.rawSpan)
        try file.close()
    }

    /// Creates a temporary file, which is not part of the package.
    ///
    /// - Parameter body: writes the file.
    /// - Returns: the file, which is deleted with the value.
    /// - Throws: `unwritable`; the errors of `body`.
    package func scratch(_ body: (PackageFile) throws -> Void) throws -> LocalFile {
        let place = "\(hidden)/.scratch"
        let file = try PackageFile(place, shownAs: "\(path)/.scratch")
        defer { unsafe unlink(place) }
        try body(file)
        try file.close()
        return try LocalFile(place)
    }

    /// Gives the folder its name, once all of it is on the disk.
    ///
    /// - Throws: `unwritable`; then there is no folder.
    package func commit() throws {
        for folder in subfolders.sorted() + [hidden] {
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
            defer { Glibc.close(descriptor) }
            guard fsync(descriptor) == 0 else {
                throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())")
            }
        }
        // the folder may have other files by now
        if replaces, let names = Self.names(in: path), !mayReplace(names) {
            throw MediaError(
                .unwritable,
                "\(path) has files that are not of this package, and is not replaced: name another folder"
            )
        }
        // an empty folder is replaced
        if unsafe rename(hidden, path) == 0 {
            isCommitted = true
        } else {
            // the hidden name is the earlier package's then, which `deinit` removes
            guard replaces, errno == ENOTEMPTY || errno == EEXIST, unsafe clinux_exchange(hidden, path) == 0 else {
                throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())")
            }
        }
        try? DurableFile.syncFolder(of: path)
    }
}

/// A file of a folder on its way.
package final class PackageFile: MediaSink {
    private let shown: String
    private var descriptor: Int32
    /// Bytes written.
    package private(set) var length: Int64 = 0

    init(_ path: String, shownAs shown: String) throws(MediaError) {
        self.shown = shown
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw MediaError(.unwritable, "\(shown) cannot be written: \(systemReason())") }
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    package func write(_ bytes: RawSpan) throws(MediaError) {
        try put(bytes, at: length)
        length += Int64(bytes.byteCount)
    }

    package func overwrite(_ bytes: RawSpan, at offset: Int64) throws(MediaError) {
        try put(bytes, at: offset)
    }

    private func put(_ bytes: RawSpan, at offset: Int64) throws(MediaError) {
        let isWritten = unsafe bytes.withUnsafeBytes { source in
            var done = 0
            while done < source.count {
                let start = unsafe source.baseAddress.map { unsafe $0 + done }
                let count = unsafe pwrite(descriptor, start, source.count - done, off_t(offset) + off_t(done))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
        guard isWritten else { throw MediaError(.unwritable, "\(shown) cannot be written: \(systemReason())") }
    }

    /// Ends the file.
    package func close() throws(MediaError) {
        guard descriptor >= 0 else { return }
        let isStored = fsync(descriptor) == 0
        let isClosed = Glibc.close(descriptor) == 0
        descriptor = -1
        guard isStored, isClosed else { throw MediaError(.unwritable, "\(shown) cannot be written: \(systemReason())") }
    }
}
