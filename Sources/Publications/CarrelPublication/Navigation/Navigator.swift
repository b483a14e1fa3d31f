// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelThreads

/// The reader's place in a publication that is shown: a view or a player follows and moves it.
///
/// None can be made of a restricted publication.
public final class Navigator: Sendable {
    /// The publication, which is open and not restricted.
    public let publication: Publication
    private let place: Locked<Locator>

    /// Creates a navigator at a place in a publication.
    ///
    /// - Parameters:
    ///   - publication: an unrestricted publication.
    ///   - locator: the starting position; nil for the beginning.
    /// - Throws: the reason if the publication is restricted; `opening.parsing-failed` for a publication without a reading order.
    public init(_ publication: Publication, at locator: Locator? = nil) throws(Publication.OpeningError) {
        guard !publication.isRestricted else {
            throw publication.protectionError as? Publication.OpeningError
                ?? Publication.OpeningError(.forbidden, publication.protectionErrorMessage ?? "the publication is restricted")
        }
        guard let first = publication.readingOrder.first.flatMap(publication.locate) else {
            throw Publication.OpeningError(.parsingFailed, "the publication has nothing to read")
        }
        self.publication = publication
        place = Locked(first)
        if let locator { go(to: locator) }
    }

    /// The reader's current place.
    public var currentLocator: Locator { place.withLock { $0 } }

    /// Goes to a position, such as the reader's last one or one of the positions.
    ///
    /// - Parameter locator: a locator of this publication; a view also calls this to report its position.
    /// - Returns: false, without moving, if it is not in the reading order.
    @discardableResult
    public func go(to locator: Locator) -> Bool {
        guard let index = index(of: locator.href) else { return false }
        var locator = locator
        // as the reading order spells it
        locator.href = publication.readingOrder[index].href
        let target = locator
        place.withLock { $0 = target }
        return true
    }

    /// Goes to the target of a link, such as a link of the table of contents.
    ///
    /// - Parameter link: a link, with or without a fragment.
    /// - Returns: false, without moving, if it is not in the reading order.
    @discardableResult
    public func go(to link: Link) -> Bool { publication.locate(link).map { go(to: $0) } ?? false }

    /// Goes to the beginning of the next resource.
    ///
    /// - Returns: false at the last one.
    @discardableResult
    public func goForward() -> Bool { step(1) }

    /// Goes to the beginning of the previous resource.
    ///
    /// - Returns: false at the first one.
    @discardableResult
    public func goBackward() -> Bool { step(-1) }

    private func step(_ distance: Int) -> Bool {
        let order = publication.readingOrder
        return place.withLock { place in
            guard let index = index(of: place.href), order.indices.contains(index + distance),
                let locator = publication.locate(order[index + distance])
            else { return false }
            place = locator
            return true
        }
    }

    private func index(of href: String) -> Int? {
        let order = publication.readingOrder
        if let path = ResourcePath(href: href) { return order.firstIndex { $0.path == path } }
        let address = href.prefix { $0 != "#" }
        return order.firstIndex { $0.href.prefix { $0 != "#" } == address }
    }
}
