// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelStore

/// An EPUB publication to ingest; the file is stored unchanged.
struct EPUBFile {
    private let ingest: EditionIngest
    private let path: String

    init(_ ingest: EditionIngest, _ path: String) {
        self.ingest = ingest
        self.path = path
    }

    func take(_ sourceHash: [UInt8]) throws -> IngestedEdition {
        try ingest.refuseSamples(path)
        let archive = try EditionArchive(path: path, limit: ingest.options.archiveLimit)
        try archive.refuseEscapes()
        let package = try EPUBPackage(archive, path: path, untitled: ingest.options.untitled)
        try archive.verify(ingest.progress)
        var metadata = package.metadata
        metadata.apply(ingest.options.overrides)
        return IngestedEdition(
            kind: .ebook,
            metadata: metadata,
            sourceHash: sourceHash,
            whole: try ingest.takeWhole(try SourceFile(path: path, name: path), suffix: "epub"),
            cover: try ingest.cover {
                try package.coverName.flatMap { try archive.content(of: $0, limit: AudioTags.Cover.limit) }
            },
            warnings: package.warnings
        )
    }
}
