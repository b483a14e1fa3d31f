// SPDX-License-Identifier: Apache-2.0

package import CarrelWorks

/// An operator's options for one ingest.
package struct IngestOptions: Sendable {
    /// Values set here override the source's own metadata.
    package var overrides = MetadataOverrides()
    /// Seconds that a segment should last; it ends on the nearest frame.
    package var segmentSeconds: Double = 10
    /// The longest sample in seconds; 0 makes none.
    package var sampleSeconds: Double = 60
    /// Whether a file whose end is missing is taken as far as it goes.
    package var allowTruncated = false
    /// Whether a title with an ISBN that another has is refused.
    package var isStrict = false
    /// The treatment of a source without a title.
    package var untitled = MissingTitlePolicy.fileName
    /// Bytes that an archive may unpack to.
    package var archiveLimit: Int64 = 16 << 30

    package init() {}

    /// Whether segments or sample are to be other than they are by default.
    package var cutsOtherwise: Bool {
        let usual = Self()
        return segmentSeconds != usual.segmentSeconds || sampleSeconds != usual.sampleSeconds
    }
}

/// The title of a source without one.
package enum MissingTitlePolicy: Sendable {
    /// Named after its file, folder or archive.
    case fileName
    case named(String)
    /// It is refused: its file was named by a program.
    case refused

    func title(of path: String) throws(IngestError) -> String {
        switch self {
        case .fileName: return SourceParts.stem(path)
        case .named(let name): return name
        case .refused: throw IngestError(.untitled, path, "does not say its title", hint: "send it with title=")
        }
    }
}

/// The progress of an ingest.
package struct IngestProgress: Sendable {
    package enum Phase: String, Sendable {
        case hashing
        case unpacking
        case indexing
        case transcoding
        case sampling
    }

    package let phase: Phase
    /// Bytes of the source done in this phase.
    package let done: Int64
    /// Bytes of the source in all; 0 when unknown.
    package let total: Int64
}
