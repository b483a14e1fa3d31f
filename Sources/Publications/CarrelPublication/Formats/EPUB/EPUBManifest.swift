// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// Makes the manifest of a package: its reading order, its resources, and what each link says.
struct EPUBManifest {
    private let package: PackageDocument
    private let encryption: [ResourcePath: Encryption]
    private let warnings: Warnings
    private let items: [PackageItem]
    /// The index of the item of an id.
    private let places: [String: Int]
    private let coverID: String?
    private let hasDurations: Bool
    /// Whether two items have the same id.
    private let hasTwins: Bool
    /// A chain of fallbacks has a link for each pair of items in it.
    private var fallbacksLeft: Int

    init(_ package: PackageDocument, _ encryption: [ResourcePath: Encryption], _ warnings: Warnings) {
        self.package = package
        self.encryption = encryption
        self.warnings = warnings
        items = package.items
        hasDurations = !package.metadata.overlayDurations.isEmpty
        fallbacksLeft = max(1000, 2 * items.count)
        var places: [String: Int] = [:]
        places.reserveCapacity(items.count)
        for place in items.indices {
            // the first of an id stays
            places[items[place].id, default: place] += 0
        }
        self.places = places
        hasTwins = places.count < items.count
        coverID = Self.coverID(package)
    }

    private static func coverID(_ package: PackageDocument) -> String? {
        let isCover = { (item: PackageItem) in !item.properties.isEmpty && item.properties.contains("cover-image") }
        if let item = package.items.first(where: isCover) { return item.id }
        // EPUB 2 names an item, and some name a path
        guard let named = package.metadata.first("cover")?.value else { return nil }
        return package.items.first { ($0.id == named || $0.href == named) && $0.mediaType?.type == "image" }?.id
    }

    mutating func manifest(untitled name: String) -> Manifest {
        var metadata = package.metadata.metadata(
            untitled: name,
            identifier: package.uniqueIdentifier,
            warnings.within("\"\(package.path)\"")
        )
        metadata.readingProgression = package.progression
        // by the place of the item
        var used = [Bool](repeating: false, count: items.count)
        var read = used
        var order: [Link] = []
        order.reserveCapacity(package.spine.count)
        var expected = 0
        for reference in package.spine where reference.isLinear {
            guard let place = place(of: reference.id, expected: expected) else {
                warnings.add(
                    .moderate,
                    "the spine of \"\(package.path)\" refers to \"\(reference.id)\", which is not in its manifest"
                )
                continue
            }
            guard !read[place] else {
                warnings.add(
                    .minor,
                    "the spine of \"\(package.path)\" refers to \"\(items[place].href)\" twice; the first counts"
                )
                continue
            }
            expected = place + 1
            read[place] = true
            used[place] = true
            var alternates: [Int] = []
            order.append(link(place, reference.properties, &alternates))
            for alternate in alternates { used[alternate] = true }
        }
        var resources: [Link] = []
        for place in items.indices where !used[hasTwins ? places[items[place].id] ?? place : place] {
            var ignored: [Int] = []
            resources.append(link(place, [], &ignored))
        }
        if fallbacksLeft < 0 {
            warnings.add(.moderate, "\"\(package.path)\" has more fallbacks than are taken; some are left out")
        }
        var manifest = Manifest(metadata: metadata, readingOrder: order, resources: resources)
        // each once: some packages say the same twice
        var written: Set<[UInt8]> = []
        manifest.links = package.metadata.links.filter { written.insert($0.json.write()).inserted }
        return manifest
    }

    /// The index of the item of an id; mostly the spine lists items in the order of the manifest.
    private func place(of id: String, expected: Int) -> Int? {
        if !hasTwins, expected < items.count, items[expected].id == id { return expected }
        return places[id]
    }

    /// - Parameters:
    ///   - place: the index of an item of the manifest.
    ///   - references: properties of the spine's reference to it.
    ///   - used: receives the indexes of items that became alternates.
    /// - Returns: the link, its overlay and its fallbacks as alternates.
    private mutating func link(_ place: Int, _ references: [String], _ used: inout [Int]) -> Link {
        var link = plainLink(place, references)
        guard items[place].mediaOverlay != nil || items[place].fallback != nil else { return link }
        var alternates: [Link] = []
        if let overlay = items[place].mediaOverlay.flatMap({ places[$0] }) {
            used.append(overlay)
            alternates.append(plainLink(overlay, []))
        }
        // fallbacks may lead to further fallbacks, and form cycles
        var seen: Set<String> = [items[place].id]
        var next = items[place].fallback
        while let id = next, seen.insert(id).inserted, let place = places[id] {
            fallbacksLeft -= 1
            guard fallbacksLeft >= 0 else { break }
            used.append(place)
            alternates.append(plainLink(place, []))
            next = items[place].fallback
        }
        link.alternates = alternates
        return link
    }

    private func plainLink(_ place: Int, _ references: [String]) -> Link {
        let type = items[place].mediaType ?? items[place].path.flatMap(\.fileExtension).flatMap(EPUBTypes.mediaType)
        var link = Link(href: items[place].href, mediaType: type)
        var relations: [String] = []
        if !items[place].properties.isEmpty {
            if items[place].properties.contains("nav") { relations.append("contents") }
            link.properties.contains = items[place].properties.compactMap { Self.contents[$0] }
        }
        if items[place].id == coverID { relations.append("cover") }
        if !relations.isEmpty { link.relations = relations }
        if hasDurations { link.duration = package.metadata.overlayDurations[items[place].id]?.positive }
        for property in references { Self.add(property, to: &link.properties.json) }
        if !encryption.isEmpty, let path = items[place].path { link.properties.encryption = encryption[path] }
        return link
    }

    /// The content of the package's items (EPUB 3.3 §D.5), in the words of the Readium manifest.
    private static let contents = [
        "mathml": "mathml", "onix-record": "onix", "remote-resources": "remote-resources", "scripted": "js", "svg": "svg",
        "xmp-record": "xmp",
    ]

    /// Properties of the spine's references (EPUB 3.3 §D.6) in the words of the Readium manifest's EPUB profile.
    private static func add(_ property: String, to json: inout JSONObject) {
        let name = property.hasPrefix("rendition:") ? String(property.dropFirst(10)) : property
        let known: [String: (String, JSON)] = [
            "page-spread-left": ("page", "left"), "page-spread-right": ("page", "right"),
            "page-spread-center": ("page", "center"),
            "spread-none": ("spread", "none"), "spread-auto": ("spread", "auto"), "spread-landscape": ("spread", "landscape"),
            "spread-portrait": ("spread", "both"), "spread-both": ("spread", "both"),
            "layout-reflowable": ("layout", "reflowable"),
            "layout-pre-paginated": ("layout", "fixed"), "orientation-auto": ("orientation", "auto"),
            "orientation-landscape": ("orientation", "landscape"), "orientation-portrait": ("orientation", "portrait"),
            "flow-auto": ("overflow", "auto"), "flow-paginated": ("overflow", "paginated"),
            "flow-scrolled-doc": ("overflow", "scrolled"), "flow-scrolled-continuous": ("overflow", "scrolled"),
        ]
        if let (member, value) = known[name] { json[member] = value }
    }
}

/// Media types of resources that do not say theirs.
enum EPUBTypes {
    static func mediaType(_ fileExtension: String) -> MediaType? {
        let types = [
            "xhtml": "application/xhtml+xml", "html": "text/html", "htm": "text/html", "css": "text/css", "js": "text/javascript",
            "svg": "image/svg+xml", "ncx": "application/x-dtbncx+xml", "otf": "font/otf", "ttf": "font/ttf", "woff": "font/woff",
            "woff2": "font/woff2", "smil": "application/smil+xml", "txt": "text/plain", "json": "application/json",
        ]
        return types[fileExtension].flatMap { MediaType($0) } ?? Format(fileExtension: fileExtension)?.mediaType
    }
}
