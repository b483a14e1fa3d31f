// SPDX-License-Identifier: Apache-2.0

/// Finds links of a manifest by their addresses.
struct LinkIndex: Sendable {
    /// The indexes of links into the container: first the reading order from 0, then the resources.
    private var places: [ResourcePath: Int] = [:]
    /// Alternates and further links that lead into the container.
    private var inside: [ResourcePath: Link] = [:]
    /// Links that lead elsewhere, by their address.
    private var outside: [String: Link] = [:]

    init(_ manifest: Manifest) {
        places.reserveCapacity(manifest.readingOrder.count + manifest.resources.count)
        var place = 0
        for list in [manifest.readingOrder, manifest.resources] {
            for index in list.indices {
                if let path = list[index].isTemplated ? nil : list[index].path, inside.isEmpty || inside[path] == nil {
                    // the first at a place stays
                    places[path, default: place] += 0
                } else {
                    add(list[index])
                }
                if list[index].hasAlternates { add(list[index].alternates) }
                place += 1
            }
        }
        add(manifest.links)
    }

    /// - Parameters:
    ///   - href: an address in any spelling; its query and fragment are ignored.
    ///   - manifest: the indexed manifest.
    /// - Returns: nil if the manifest has no such link.
    func link(_ href: String, in manifest: Manifest) -> Link? {
        guard let path = ResourcePath(href: href) else { return outside[Self.address(href)] }
        guard let place = places[path] else { return inside[path] }
        let count = manifest.readingOrder.count
        return place < count ? manifest.readingOrder[place] : manifest.resources[place - count]
    }

    private mutating func add(_ links: [Link]) {
        for link in links {
            add(link)
            add(link.alternates)
        }
    }

    private mutating func add(_ link: Link) {
        if link.isTemplated { return }
        if let path = link.path {
            if places[path] == nil, inside[path] == nil { inside[path] = link }
        } else {
            let address = Self.address(link.href)
            if outside[address] == nil { outside[address] = link }
        }
    }

    /// Without query and fragment.
    private static func address(_ href: String) -> String {
        String(href.utf8.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "?") }) ?? href
    }
}
