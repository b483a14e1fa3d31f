// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
import CarrelWorks

/// A PDF document to ingest; the file is stored unchanged.
struct PDFFile {
    private let intake: EditionIntake
    private let path: String

    init(_ intake: EditionIntake, _ path: String) {
        self.intake = intake
        self.path = path
    }

    func take(_ sourceHash: [UInt8]) throws -> IngestedEdition {
        try intake.refuseSamples(path)
        let file = try SourceFile(path: path, name: path)
        let tail = try file.bytes(max(0, file.size - 2048)..<file.size)
        var warnings: [String] = []
        if tail.index(of: "%%EOF") == nil {
            guard intake.options.allowTruncated else {
                throw IngestError(.truncated, path, "ends before its end", hint: "--allow-truncated takes it as it is")
            }
            warnings.append("\(path) ends before its end")
        }
        let information = try PDFInformation(file)
        if information.isEncrypted { warnings.append("\(path) is encrypted: readers may need a password for it") }
        var metadata = TitleMetadata(title: try information.title ?? intake.options.untitled.title(of: path))
        metadata.authors = information.author.map { [$0] } ?? []
        metadata.apply(intake.options.overrides)
        return IngestedEdition(
            kind: .pdf,
            metadata: metadata,
            sourceHash: sourceHash,
            whole: try intake.takeWhole(file, suffix: "pdf"),
            cover: try intake.cover { nil },
            warnings: warnings
        )
    }
}
