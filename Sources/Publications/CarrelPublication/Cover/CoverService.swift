// SPDX-License-Identifier: Apache-2.0

/// Finds the picture that stands for a publication.
public protocol CoverService: PublicationService {
    /// The cover as it was published, in whatever size.
    ///
    /// - Returns: nil if there is none that can be shown.
    /// - Throws: `resource.unavailable`, `resource.cancelled`; nil for a damaged image.
    func cover() async throws(ResourceError) -> Cover?
}

/// A picture that stands for a publication.
public struct Cover: Sendable, Equatable {
    /// The media type, from the image's first bytes.
    public let mediaType: MediaType
    /// The encoded image, at most ``limit`` bytes.
    public let bytes: [UInt8]

    /// The address of covers, relative to the publication.
    public static let href = "~readium/cover"
    static let path: ResourcePath = "~readium/cover"
    /// Bytes of a cover at most.
    public static let limit = 16 << 20

    /// Creates a cover.
    ///
    /// - Parameter bytes: the encoded image. Nil unless browsers show it, and when it is too long.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.limit, let format = Format.recognized(by: bytes), format.conforms(to: .bitmap) else {
            return nil
        }
        mediaType = format.mediaType
        self.bytes = bytes
    }

    /// A vector image (SVG), which is recognized only by its declared type.
    ///
    /// - Parameter drawing: XML text. Nil if it is too long.
    init?(drawing: [UInt8]) {
        guard drawing.count <= Self.limit else { return nil }
        mediaType = MediaType(known: "image/svg+xml")
        bytes = drawing
    }
}

extension CoverService {
    /// The cover as a resource; nil for other addresses than the cover's.
    public func get(_ link: Link) -> (any Resource)? {
        guard link.path == Cover.path else { return nil }
        return LazyBytesResource(Link(href: Cover.href)) { [self] () async throws(ResourceError) in
            guard let cover = try await cover() else {
                throw ResourceError(.notFound, "the publication has no cover")
            }
            return cover.bytes
        }
    }
}

extension Publication {
    /// The picture that stands for the publication, of a restricted one too; nil if there is none.
    ///
    /// - Throws: ``ResourceError`` if the picture cannot be read.
    public func cover() async throws(ResourceError) -> Cover? {
        try await findService((any CoverService).self)?.cover()
    }
}
