import CarrelJSON

/// Makes the manifest of a package: its reading order, its resources, and what each link says.
struct EPUBManifest {
    private let package: PackageDocument
    private let encryption: [ResourcePath: Encryption]
    private let warnings: Warnings
    private let items: [PackageDocument.Item]
    /// Where the item of an id is.
    private let places: [String: Int]
    private let coverID: String?
    private let hasDurations: Bool
    /// A chain of fallbacks has a link for each pair of items in it.
    private var fallbacksLeft: Int

    init(_ package: PackageDocument, _ encryption: [ResourcePath: Encryption], _ warnings: Warnings) {
        self.package = package
        self.encryption = encryption
        self.warnings = warnings
        items = package.items
        hasDurations = !package.metadata.overlayDurations.isEmpty
        fallbacksLeft = max(1000, 2 * items.count)
        places = Dictionary(items.indices.lazy.map { (package.items[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
        coverID = Self.coverID(package)
    }

    private static func coverID(_ package: PackageDocument) -> String? {
        if let item = package.items.first(where: { $0.properties.contains("cover-image") }) { return item.id }
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
        for reference in package.spine where reference.isLinear {
            guard let place = places[reference.id] else {
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
            read[place] = true
            used[place] = true
            var alternates: [Int] = []
            order.append(link(items[place], reference.properties, &alternates))
            for alternate in alternates { used[alternate] = true }
        }
        var resources: [Link] = []
        let hasTwins = places.count < items.count
        for (index, item) in items.enumerated() where !used[hasTwins ? places[item.id] ?? index : index] {
            var ignored: [Int] = []
            resources.append(link(item, [], &ignored))
        }
        if fallbacksLeft < 0 {
            warnings.add(.moderate, "\"\(package.path)\" has more fallbacks than are taken; some are left out")
        }
        var manifest = Manifest(metadata: metadata, readingOrder: order, resources: resources)
        manifest.links = package.metadata.links
        return manifest
    }

    /// - Parameters:
    ///   - item: of the manifest.
    ///   - references: properties of the spine's reference to it.
    ///   - used: gets the places of what became an alternate.
    /// - Returns: the link, its overlay and its fallbacks as alternates.
    private mutating func link(_ item: PackageDocument.Item, _ references: [String], _ used: inout [Int]) -> Link {
        var link = plainLink(item, references)
        guard item.mediaOverlay != nil || item.fallback != nil else { return link }
        var alternates: [Link] = []
        if let overlay = item.mediaOverlay.flatMap({ places[$0] }) {
            used.append(overlay)
            alternates.append(plainLink(items[overlay], []))
        }
        // fallbacks may lead to further ones, and in a circle
        var seen: Set<String> = [item.id]
        var next = item.fallback
        while let id = next, seen.insert(id).inserted, let place = places[id] {
            fallbacksLeft -= 1
            guard fallbacksLeft >= 0 else { break }
            used.append(place)
            alternates.append(plainLink(items[place], []))
            next = items[place].fallback
        }
        link.alternates = alternates
        return link
    }

    private func plainLink(_ item: PackageDocument.Item, _ references: [String]) -> Link {
        var link = Link(
            href: item.href,
            mediaType: item.mediaType ?? item.path.flatMap(\.fileExtension).flatMap(EPUBTypes.mediaType)
        )
        var relations: [String] = []
        if item.properties.contains("nav") { relations.append("contents") }
        if item.id == coverID { relations.append("cover") }
        if !relations.isEmpty { link.relations = relations }
        if hasDurations { link.duration = package.metadata.overlayDurations[item.id]?.positive }
        if !item.properties.isEmpty { link.properties.contains = item.properties.compactMap { Self.contents[$0] } }
        for property in references { Self.add(property, to: &link.properties.json) }
        if !encryption.isEmpty, let path = item.path { link.properties.encryption = encryption[path] }
        return link
    }

    /// What items of the package hold (EPUB 3.3 §D.5), in the words of the Readium manifest.
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
