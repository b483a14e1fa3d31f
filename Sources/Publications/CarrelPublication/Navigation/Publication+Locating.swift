// SPDX-License-Identifier: Apache-2.0

extension Publication {
    /// Finds the position of a link's target.
    ///
    /// - Parameter link: a link of the publication; its fragment becomes one of the position's fragments.
    /// - Returns: nil if it leads to no resource of the manifest.
    public func locate(_ link: Link) -> Locator? {
        guard let target = self.link(withHREF: link.href) else { return nil }
        let type = target.mediaType ?? link.mediaType ?? Format.unknown.mediaType
        var locator = Locator(href: target.href, mediaType: type, title: link.title ?? target.title)
        if let fragment = link.fragment, !fragment.isEmpty {
            locator.locations.fragments = [String(fragment)]
        } else {
            locator.locations.progression = 0
        }
        return locator
    }

    /// Restores a position, such as a position saved with another version of the publication.
    ///
    /// - Parameter locator: a locator from any source.
    /// - Returns: the same position, with address and media type from the reading order, and a fragment of the address among its
    ///   fragments; if the reading order has no such resource, the position at the locator's `totalProgression`, or nil without
    ///   it.
    /// - Throws: ``ResourceError``, if the positions have to be computed.
    public func locate(_ locator: Locator) async throws(ResourceError) -> Locator? {
        let path = ResourcePath(href: locator.href)
        if let link = readingOrder.first(where: { path == nil ? $0.href == locator.href : $0.path == path }) {
            var found = locator
            found.href = link.href
            found.mediaType = link.mediaType ?? locator.mediaType
            if let fragment = Link(href: locator.href).fragment, !fragment.isEmpty,
                !found.locations.fragments.contains(String(fragment))
            {
                found.locations.fragments.append(String(fragment))
            }
            return found
        }
        guard let progression = locator.locations.totalProgression else { return nil }
        guard var found = try await locate(progression: progression) else { return nil }
        found.text = locator.text
        return found
    }

    /// Finds the position at a fraction of the whole publication: by its positions, or by time in an audiobook.
    ///
    /// - Parameter progression: from 0 to 1.
    /// - Returns: nil for another number, and if the publication has neither positions nor a duration.
    /// - Throws: ``ResourceError``.
    public func locate(progression: Double) async throws(ResourceError) -> Locator? {
        guard (0...1).contains(progression) else { return nil }
        // of each resource of the reading order that has any; ordered by their share
        let positions = try await positionsByReadingOrder().filter { !$0.isEmpty }
        func share(_ locator: Locator?) -> Double? { locator?.locations.totalProgression }
        guard let index = positions.lastIndex(where: { (share($0.first) ?? 0) <= progression }),
            var locator = positions[index].last(where: { (share($0) ?? 0) <= progression })
        else { return locate(timeProgression: progression) }
        let start = share(positions[index].first) ?? 0
        let end = index + 1 < positions.count ? share(positions[index + 1].first) ?? 1 : 1
        if end > start { locator.locations.progression = min(1, (progression - start) / (end - start)) }
        locator.locations.totalProgression = progression
        return locator
    }

    private func locate(timeProgression progression: Double) -> Locator? {
        let lengths = readingOrder.map { $0.duration ?? 0 }
        let total = lengths.reduce(0, +)
        // a resource of unknown length could be anywhere
        guard total > 0, lengths.allSatisfy({ $0 > 0 }) else { return nil }
        var left = progression * total
        for (index, length) in lengths.enumerated() {
            guard left >= length, index < lengths.count - 1 else {
                guard var locator = locate(readingOrder[index]) else { return nil }
                let seconds = min(left, length)
                locator.locations.fragments = ["t=\(Int(seconds))"]
                locator.locations.progression = seconds / length
                locator.locations.totalProgression = progression
                return locator
            }
            left -= length
        }
        return nil
    }
}
