// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes

/// A ZIP archive that holds an edition, checked as a whole before anything of it is used.
struct EditionArchive {
    let archive: Archive
    private let source: String

    /// - Throws: `ingest.archive` for links, passwords and names that clash, and for what `Archive` refuses.
    init(path: String, limit: Int64) throws(IngestError) {
        source = path
        do throws(ArchiveError) {
            archive = try Archive(path: path, limits: ArchiveLimits(totalBytes: limit), leavingOutEscapes: true)
        } catch {
            throw IngestError(.archive, path, error.message)
        }
        for entry in archive.entries {
            if entry.isSymbolicLink { throw IngestError(.archive, path, "entry \"\(entry.name)\" is a symbolic link") }
            if entry.isEncrypted {
                throw IngestError(.protected, path, "entry \"\(entry.name)\" is encrypted", hint: "pack it without a password")
            }
        }
        try ResourceName.refuseClashes(archive.entries.lazy.filter { !$0.isDirectory }.map(\.name), in: path)
    }

    /// Refuses entries whose names leave the archive's folder: apps get the archive unchanged.
    func refuseEscapes() throws(IngestError) {
        guard let entry = archive.leftOut.first else { return }
        throw IngestError(.archive, source, entry.message, hint: "take it out of the archive, as by zip -d")
    }

    var hasPages: Bool {
        archive.entries.contains { !$0.isDirectory && ResourceType.isPage($0.name) && !ResourceName.isLitter($0.name) }
    }

    /// Reads every entry to its end: verifies that entries are complete and within the limits.
    func verify(_ progress: (IngestProgress) throws -> Void) throws {
        let total = archive.entries.reduce(Int64(0)) { $0 + $1.size }
        var byteCount: Int64 = 0
        do {
            for entry in archive.entries where !entry.isDirectory {
                let reader = try archive.open(entry)
                while true {
                    let chunk = try [UInt8](rawCapacity: 1 << 20) { (out) throws(ArchiveError) in try reader.read(into: &out) }
                    if chunk.isEmpty { break }
                    byteCount += Int64(chunk.count)
                    try progress(IngestProgress(phase: .unpacking, done: byteCount, total: total))
                }
            }
        } catch let error as ArchiveError {
            throw IngestError(.archive, source, error.message)
        }
    }

    /// The whole of one entry of at most `limit` bytes; nil if there is no such entry.
    func content(of name: String, limit: Int) throws(IngestError) -> [UInt8]? {
        guard let entry = archive.entries.first(where: { $0.name == name }) else { return nil }
        guard entry.size <= Int64(limit) else {
            throw IngestError(.archive, source, "entry \"\(name)\" is larger than it may be")
        }
        var bytes: [UInt8] = []
        do throws(ArchiveError) {
            let reader = try archive.open(entry)
            while bytes.count <= limit {
                let chunk = try reader.read(atMost: 1 << 20)
                if chunk.isEmpty { return bytes }
                bytes += chunk
            }
        } catch {
            throw IngestError(.archive, source, error.message)
        }
        throw IngestError(.archive, source, "entry \"\(name)\" is larger than it may be")
    }
}
