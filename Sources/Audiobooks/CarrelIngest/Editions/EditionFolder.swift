// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelFiles
import CarrelWorks
import Glibc

/// The files of a folder that make up an edition.
struct EditionFolder {
    struct File {
        /// Below the edition's address.
        let path: String
        /// On disk.
        let location: String
    }

    /// Ordered as a person would count: 2 before 10.
    private(set) var files: [File] = []

    private static let fileLimit = 20_000
    private static let depthLimit = 32

    /// - Parameters:
    ///   - root: the folder.
    ///   - source: its name in messages.
    /// - Throws: ``IngestError`` for links, for invalid names, and for exceeded limits.
    init(_ root: String, source: String) throws(IngestError) {
        try walk(root, "", depth: 0, source)
        files = NaturalOrder.sorted(files, by: \.path)
        try ResourceName.refuseClashes(files.lazy.map(\.path), in: source)
        stripWrapper()
        for file in files {
            if let fault = EditionResource.fault(inPath: file.path) {
                throw IngestError(.archive, source, "the name of \"\(file.path)\" \(fault)")
            }
        }
    }

    /// Pages are often packed with the folder that they lie in.
    private mutating func stripWrapper() {
        guard let first = files.first?.path.split(separator: "/").first, files.allSatisfy({ $0.path.hasPrefix("\(first)/") })
        else {
            return
        }
        files = files.map { File(path: String($0.path.dropFirst(first.count + 1)), location: $0.location) }
    }

    private mutating func walk(_ folder: String, _ prefix: String, depth: Int, _ source: String) throws(IngestError) {
        guard depth < Self.depthLimit else {
            throw IngestError(.archive, source, "has folders in folders, \(Self.depthLimit) deep and more, at \"\(prefix)\"")
        }
        guard let stream = unsafe opendir(folder) else {
            throw IngestError(.unreadable, folder, "cannot be read: \(systemReason())")
        }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let bytes = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in unsafe Array(bytes.prefix { $0 != 0 }) }
            guard let name = String(validating: bytes, as: UTF8.self) else {
                throw IngestError(.archive, source, "a name in \"\(prefix)\" is not UTF-8")
            }
            if name == "." || name == ".." || ResourceName.isLitter(name) { continue }
            let (path, location) = ("\(prefix)\(name)", "\(folder)/\(name)")
            var status = stat()
            guard unsafe lstat(location, &status) == 0 else {
                throw IngestError(.unreadable, location, "cannot be read: \(systemReason())")
            }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try walk(location, "\(path)/", depth: depth + 1, source)
            case S_IFREG: files.append(File(path: path, location: location))
            case S_IFLNK: throw IngestError(.archive, source, "\"\(path)\" is a symbolic link; put the file itself there")
            default: throw IngestError(.archive, source, "\"\(path)\" is not a file")
            }
            guard files.count <= Self.fileLimit else {
                throw IngestError(.archive, source, "holds more than \(Self.fileLimit) files")
            }
        }
    }
}
