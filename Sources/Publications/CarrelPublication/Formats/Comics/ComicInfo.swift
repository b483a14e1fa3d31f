// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The content of a `ComicInfo.xml` (the Anansi project's schema 2.0).
struct ComicInfo {
    private let root: XMLElement

    init(_ root: XMLElement) {
        self.root = root
    }

    func add(to manifest: inout Manifest) {
        if let title = text("Title") { manifest.metadata.title = LocalizedString(title) }
        manifest.metadata.description = text("Summary")
        manifest.metadata.published = date
        manifest.metadata.languages = text("LanguageISO").map { [$0] } ?? []
        manifest.metadata.subjects = names("Genre").map { Subject(name: LocalizedString($0)) }
        let roles: [(String, ContributorRole)] = [
            ("Writer", .author), ("Penciller", .penciler), ("Inker", .inker), ("Colorist", .colorist), ("Letterer", .letterer),
            ("CoverArtist", .artist), ("Editor", .editor), ("Translator", .translator), ("Publisher", .publisher),
            ("Imprint", .imprint),
        ]
        for (name, role) in roles {
            let contributors = names(name).map { Contributor(name: LocalizedString($0)) }
            if !contributors.isEmpty { manifest.metadata.contributors[role] = contributors }
        }
        if let series = text("Series") {
            var collection = Contributor(name: LocalizedString(series))
            collection.position = text("Number").flatMap { Double(finite: $0) }
            manifest.metadata.belongsTo["series"] = [collection]
            if text("Title") == nil {
                manifest.metadata.title = LocalizedString([series, text("Number")].compactMap(\.self).joined(separator: " "))
            }
        }
        manifest.metadata.readingProgression = text("Manga") == "YesAndRightToLeft" ? .rtl : nil
        addPages(to: &manifest)
    }

    /// The cover, and pages with a bookmark as contents.
    private func addPages(to manifest: inout Manifest) {
        var marked: Set<Int> = []
        for page in root.child("Pages")?.children ?? [] where page.name.local == "Page" {
            guard let index = page["Image"].flatMap({ Int($0) }), manifest.readingOrder.indices.contains(index) else { continue }
            if page["Type"] == "FrontCover", manifest.readingOrder.first(withRelation: "cover") == nil {
                manifest.readingOrder[index].relations = ["cover"]
            }
            if let title = page["Bookmark"], !title.isEmpty, marked.insert(index).inserted {
                manifest.tableOfContents.append(Link(href: manifest.readingOrder[index].href, title: title))
            }
        }
    }

    private func text(_ name: String) -> String? {
        let words = root.child(name)?.words ?? ""
        return words.isEmpty ? nil : words
    }

    private func names(_ name: String) -> [String] {
        (text(name) ?? "").split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
    }

    /// A year, a month of it, or a day, as much as is given.
    private var date: String? {
        guard let year = text("Year").flatMap({ Int($0) }), 1...9999 ~= year else { return nil }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let long = String(year)
        var date = String(repeating: "0", count: 4 - long.count) + long
        guard let month = text("Month").flatMap({ Int($0) }), 1...12 ~= month else { return date }
        date += "-" + two(month)
        if let day = text("Day").flatMap({ Int($0) }), 1...31 ~= day { date += "-" + two(day) }
        return date
    }
}
