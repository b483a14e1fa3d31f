// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import Glibc

/// Unpacks a ZIP archive into a separate folder, within limits on its actual content, not on its declarations.
struct ArchiveUnpacking {
    let path: String
    /// Bytes that may come out.
    let limit: Int64

    /// - Returns: entries that were left out, because their names lead out of the folder.
    func unpack(into folder: String, _ progress: (IngestProgress) throws -> Void) throws -> [OmittedArchiveEntry] {
        do {
            let archive = try Archive(path: path, limits: ArchiveLimits(totalBytes: limit), leavingOutEscapes: true)
            try unpack(archive, into: folder, progress)
            return archive.leftOut
        } catch let error as ArchiveError {
            throw IngestError(.archive, path, error.message)
        }
    }

    /// The same for an open archive.
    func unpack(_ archive: Archive, into folder: String, _ progress: (IngestProgress) throws -> Void) throws {
        do {
            let total = archive.entries.reduce(Int64(0)) { $0 + $1.size }
            var byteCount: Int64 = 0
            for entry in archive.entries where !entry.isDirectory && !entry.isSymbolicLink {
                try makeFolders(of: entry.name, in: folder)
                let reader = try archive.open(entry)
                let file = try ScratchFile(at: "\(folder)/\(entry.name)", name: entry.name)
                while true {
                    let chunk = try [UInt8](rawCapacity: 1 << 20) { (out) throws(ArchiveError) in try reader.read(into: &out) }
                    if chunk.isEmpty { break }
                    try file.append(chunk.rawSpan)
                    byteCount += Int64(chunk.count)
                    try progress(IngestProgress(phase: .unpacking, done: byteCount, total: total))
                }
            }
        } catch let error as ArchiveError {
            throw IngestError(.archive, path, error.message)
        }
    }

    /// Makes the folders of an entry; its name was checked to stay inside.
    private func makeFolders(of name: String, in folder: String) throws(IngestError) {
        var path = folder
        for part in name.split(separator: "/").dropLast() {
            path += "/\(part)"
            guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw IngestError(scratch: name)
            }
        }
    }
}
