// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelStore
import CarrelWorks

/// An EPUB publication to ingest; the file is stored unchanged.
struct EPUBFile {
    private let intake: EditionIntake
    private let path: String

    init(_ intake: EditionIntake, _ path: String) {
        self.intake = intake
        self.path = path
    }

    func take(_ sourceHash: [UInt8]) throws -> IngestedEdition {
        try intake.refuseSamples(path)
        let archive = try EditionArchive(path: path, limit: intake.options.archiveLimit)
        try archive.refuseEscapes()
        let package = try EPUBPackage(archive, path: path, untitled: intake.options.untitled)
        try archive.verify(intake.work.progress)
        var metadata = package.metadata
        metadata.apply(intake.options.overrides)
        return IngestedEdition(
            kind: .ebook,
            metadata: metadata,
            sourceHash: sourceHash,
            whole: try intake.takeWhole(try SourceFile(path: path, name: path), suffix: "epub"),
            cover: try intake.cover {
                try package.coverName.flatMap { try archive.content(of: $0, limit: AudioTags.Cover.limit) }
            },
            warnings: package.warnings
        )
    }
}
