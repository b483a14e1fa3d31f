// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Finds the elements of an MPD that are references, with their effective base URLs.
final class ReferenceVisitor: XMLVisitor {
    struct Entry {
        /// Its number in the document.
        let element: Int
        let link: MPDLink
        let base: String
    }

    private(set) var entries: [Entry] = []
    /// The base of each open element, and whether it was declared there.
    private var bases: [(url: String, isOwn: Bool)]
    private var number = -1
    private var text = ""
    private(set) var takesText = false

    private let limit: Int

    /// - Parameters:
    ///   - url: the address of the MPD.
    ///   - limit: references; of more, one more is kept.
    init(url: String, limit: Int) {
        self.limit = limit
        bases = [(url, true)]
    }

    func start(_ tag: borrowing XMLTag) {
        number += 1
        let base = bases.last?.url ?? ""
        // keeps one above the limit, which the caller then refuses
        if entries.count <= limit, let link = MPDLink(of: tag) { entries.append(Entry(element: number, link: link, base: base)) }
        takesText = tag.isNamed("BaseURL")
        text = ""
        bases.append((base, false))
    }

    func take(_ text: String) {
        // a longer base is ignored
        guard takesText, self.text.utf8.count + text.utf8.count <= 65_536 else { return }
        self.text += text
    }

    func end() {
        bases.removeLast()
        guard takesText else { return }
        takesText = false
        // only the first of several bases is used
        guard let last = bases.indices.last, last > 0, !bases[last].isOwn else { return }
        bases[last] = (URIReference.resolve(MPDText.trimmed(text), against: bases[last].url), true)
    }
}

/// Checks that a remote element contains only siblings of one name, and no reference.
final class EntityVisitor: XMLVisitor {
    private let name: String
    private var depth = 0
    private var number = -1
    /// The first thing that was wrong, and the number of its element.
    private(set) var fault: (what: String, element: Int)?

    init(_ name: String) {
        self.name = name
    }

    var takesText: Bool { depth == 1 }

    func start(_ tag: borrowing XMLTag) {
        number += 1
        depth += 1
        guard fault == nil else { return }
        if depth == 2, tag.local != name { fault = ("remote element is not the one that it stands for", number) }
        if MPDLink(of: tag) != nil { fault = ("remote element refers to another one", number) }
    }

    func take(_ text: String) {
        guard fault == nil, !MPDText.trimmed(text).isEmpty else { return }
        fault = ("remote element has text beside its elements", number)
    }

    func end() {
        depth -= 1
        guard depth == 0, number == 0, fault == nil else { return }
        fault = ("remote element is empty", 0)
    }
}
