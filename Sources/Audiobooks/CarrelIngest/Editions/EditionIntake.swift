// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelWorks

/// The work, the options and the page history of one ingest, with the steps that all kinds of editions share.
struct EditionIntake {
    let work: IngestWork
    let options: EditionOptions
    let history: PageHistory

    /// Takes a file unchanged, with its one resource.
    func takeWhole(_ file: SourceFile, suffix: String) throws -> (blob: BlobID, resource: EditionResource) {
        let writer = try work.blobs.writer()
        var hash = SHA256.Stream()
        try file.forEachWindow { window in
            try writer.append(window)
            hash.update(window)
            try work.progress(IngestProgress(phase: .indexing, done: writer.byteCount, total: file.size))
        }
        let name = "\(options.productID).\(suffix)"
        let resource = EditionResource(
            path: name,
            mediaType: ResourceType.of(name),
            offset: 0,
            byteCount: writer.byteCount,
            digest: String(Hex.encode(hash.finish()).prefix(32)),
            changedAt: history.now,
            isSample: false
        )
        return (try writer.finish(), resource)
    }

    /// Refuses patterns of samples where nothing can be a sample.
    func refuseSamples(_ path: String) throws(IngestError) {
        guard let pattern = options.samples.first else { return }
        throw IngestError(.notEdition, path, "is one file, of which \"\(pattern)\" cannot be open to everybody")
    }

    /// The picture that the operator named, or the one that the source has.
    func cover(_ own: () throws -> [UInt8]?) throws -> (blob: BlobID, mediaType: String)? {
        if let path = options.overrides.coverPath { return try IngestWork.keepCover(path, in: work.blobs) }
        return try own().flatMap { AudioTags.Cover($0) }.flatMap { try work.keep($0) }
    }
}
