// SPDX-License-Identifier: Apache-2.0

/// A resource that was loaded while a download was planned: a playlist, a manifest, an index, an initialization segment.
package struct SavedDocument: Sendable, Equatable {
    /// The requested address.
    package var address: String
    /// The requested range; nil for all.
    package var range: Range<Int64>?
    /// The address after redirects, against which references in the document are resolved.
    package var finalAddress: String
    package var bytes: [UInt8]

    package init(address: String, range: Range<Int64>?, finalAddress: String, bytes: [UInt8]) {
        self.address = address
        self.range = range
        self.finalAddress = finalAddress
        self.bytes = bytes
    }
}

/// The identity of a piece in its package.
package struct SavedPieceName: Sendable, Hashable {
    /// The index of the stream in the plan.
    package var stream: Int
    /// The index of the piece among the heads, or the segments, of the stream.
    package var number: Int
    /// Whether it is a head of media (`NNNNN.initfrag`), not a segment (`NNNNN.frag`).
    package var isInitialization: Bool

    package init(stream: Int, number: Int, isInitialization: Bool = false) {
        self.stream = stream
        self.number = number
        self.isInitialization = isInitialization
    }
}

/// A part of the media, which one file holds.
package struct SavedPiece: Sendable, Hashable {
    /// The resolved address of the resource.
    package var address: String
    /// The range of the resource; nil for all of it.
    package var range: Range<Int64>?
    package var duration: Duration
    /// The start time in the presentation.
    package var start: Duration
    package var isInitialization: Bool
    /// Whether the origin delivers it encrypted.
    package var isEncrypted: Bool

    package init(
        address: String,
        range: Range<Int64>?,
        duration: Duration,
        start: Duration,
        isInitialization: Bool = false,
        isEncrypted: Bool
    ) {
        self.address = address
        self.range = range
        self.duration = duration
        self.start = start
        self.isInitialization = isInitialization
        self.isEncrypted = isEncrypted
    }
}

/// A selected stream of the source: one folder of the package.
package struct SavedStream: Sendable {
    /// The kind of a stream, by which its folder is named (`0-1`, `1-1`, `2-1`).
    package enum Kind: Int, Sendable, Hashable {
        /// Video, also multiplexed with audio, or a whole file.
        case video = 0
        case audio = 1
        case text = 2
    }

    package var kind: Kind
    /// Bits a second, at most; 0 if unknown.
    package var bandwidth: Int
    /// The language (BCP 47), for events and lists; not stored.
    package var language: String?
    /// Whether the pieces are consecutive parts of whole resources, so that a request for all of a resource is served from them.
    package var isWhole: Bool
    /// The pieces in order; heads of media among them.
    package var pieces: [SavedPiece]

    package init(
        kind: Kind,
        bandwidth: Int = 0,
        language: String? = nil,
        isWhole: Bool = false,
        pieces: [SavedPiece]
    ) {
        self.kind = kind
        self.bandwidth = bandwidth
        self.language = language
        self.isWhole = isWhole
        self.pieces = pieces
    }

    /// The names of the pieces, in their order.
    ///
    /// - Parameter stream: the index of this stream in the plan.
    /// - Returns: as many names as there are pieces.
    package func names(stream: Int) -> [SavedPieceName] {
        var (heads, segments) = (0, 0)
        return pieces.map { piece in
            if piece.isInitialization {
                heads += 1
                return SavedPieceName(stream: stream, number: heads - 1, isInitialization: true)
            }
            segments += 1
            return SavedPieceName(stream: stream, number: segments - 1)
        }
    }
}

/// The size and digest of a stored file, as the disk has it: of a sealed file, with its seal.
package struct SavedDigest: Sendable, Hashable {
    /// Bytes.
    package var length: Int64
    /// SHA-256.
    package var sha256: [UInt8]

    package init(length: Int64, sha256: [UInt8]) {
        self.length = length
        self.sha256 = sha256
    }
}
