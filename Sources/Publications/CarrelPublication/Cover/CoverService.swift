// SPDX-License-Identifier: Apache-2.0

/// Finds the picture that stands for a publication.
public protocol CoverService: PublicationService {
    /// The cover as it was published, in whatever size. May be called for each read of it.
    ///
    /// - Returns: nil if there is none that can be shown.
    /// - Throws: `resource.unavailable`, `resource.cancelled`; `resource.forbidden` after its license has ended; nil for a damaged
    ///   image.
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
        return CoverResource(self)
    }
}

/// The cover as a resource. The service is asked for each read: what allows the cover may have ended since.
private final class CoverResource: Resource {
    let link = Link(href: Cover.href)
    private let service: any CoverService

    init(_ service: any CoverService) {
        self.service = service
    }

    func length() async throws(ResourceError) -> Int64 { Int64(try await bytes().count) }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let bytes = try await bytes()
        let range = range.clamped(to: 0..<Int64(bytes.count))
        buffer += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }

    private func bytes() async throws(ResourceError) -> [UInt8] {
        guard let cover = try await service.cover() else {
            throw ResourceError(.notFound, "the publication has no cover")
        }
        return cover.bytes
    }
}

extension Publication {
    /// The picture that stands for the publication, of a restricted one too; nil if there is none.
    ///
    /// - Throws: ``ResourceError`` if the picture cannot be read; `resource.forbidden` after the license has ended.
    public func cover() async throws(ResourceError) -> Cover? {
        if let endReason { throw ResourceError(.forbidden, endReason) }
        return try await findService((any CoverService).self)?.cover()
    }
}
