// SPDX-License-Identifier: Apache-2.0

public import CarrelJSON

/// Cuts a publication into positions: places that are the same on every device and whatever the size of its letters
/// (Readium "Positions").
public protocol PositionsService: PublicationService {
    /// The positions of each resource of the reading order.
    ///
    /// - Returns: one list for each resource; positions are numbered consecutively from 1.
    /// - Throws: ``ResourceError``.
    func positionsByReadingOrder() async throws(ResourceError) -> [[Locator]]

    /// The number of positions of each resource of the reading order.
    ///
    /// - Returns: one number for each resource. By default counted from ``positionsByReadingOrder()``.
    /// - Throws: ``ResourceError``.
    func positionCountsByReadingOrder() async throws(ResourceError) -> [Int]
}

/// The address and media type of lists of positions.
public enum Positions {
    /// The media type of a list of positions.
    public static let mediaType = MediaType(known: "application/vnd.readium.position-list+json")
    /// The address of the list, relative to the publication.
    public static let href = "~readium/positions"
    static let relation = "http://readium.org/position-list"

    static let path: ResourcePath = "~readium/positions"
    static let link: Link = {
        var link = Link(href: href, mediaType: mediaType)
        link.relations = [relation]
        return link
    }()

    /// The document of a list of positions.
    ///
    /// - Parameter positions: of a publication, in their order.
    /// - Returns: an object with `total` and `positions`.
    public static func json(_ positions: [Locator]) -> JSON {
        ["total": .integer(Int64(positions.count)), "positions": .array(positions.map(\.json))]
    }
}

extension PositionsService {
    /// The link of the list of positions.
    public var links: [Link] { [Positions.link] }

    public func positionCountsByReadingOrder() async throws(ResourceError) -> [Int] {
        try await positionsByReadingOrder().map(\.count)
    }

    /// The list of positions as a resource; nil for other addresses than the list's.
    public func get(_ link: Link) -> (any Resource)? {
        guard link.path == Positions.path else { return nil }
        return LazyBytesResource(Positions.link) { [self] () async throws(ResourceError) in
            Positions.json(try await positionsByReadingOrder().flatMap(\.self)).write()
        }
    }
}

extension Publication {
    /// The positions of each resource of the reading order; none if the publication has no positions.
    ///
    /// - Throws: ``ResourceError`` if a resource that has to be read for them cannot be read.
    public func positionsByReadingOrder() async throws(ResourceError) -> [[Locator]] {
        guard let service = findService((any PositionsService).self) else { return readingOrder.map { _ in [] } }
        return try await service.positionsByReadingOrder()
    }

    /// The number of positions of each resource of the reading order; 0 if the publication has no positions.
    ///
    /// - Throws: ``ResourceError`` if a resource that has to be read for them cannot be read.
    public func positionCountsByReadingOrder() async throws(ResourceError) -> [Int] {
        guard let service = findService((any PositionsService).self) else { return readingOrder.map { _ in 0 } }
        return try await service.positionCountsByReadingOrder()
    }

    /// The positions of the publication.
    ///
    /// - Throws: ``ResourceError`` if a resource that has to be read for them cannot be read.
    public func positions() async throws(ResourceError) -> [Locator] { try await positionsByReadingOrder().flatMap(\.self) }
}
