// SPDX-License-Identifier: Apache-2.0

import CarrelArchive

/// Requirements of an EPUB's archive (EPUB 3.3 §4.2) that a reader can do without.
enum ContainerCheck {
    /// - Parameters:
    ///   - archive: the archive of an EPUB.
    ///   - warnings: receives names that other readers may not find, and a misplaced `mimetype`.
    static func check(_ archive: ArchiveFetcher, _ warnings: Warnings) async {
        var names: [String: Int] = [:]
        names.reserveCapacity(archive.entries.count)
        for (index, entry) in archive.entries.enumerated() {
            let name = entry.path.string
            let isASCII = entry.rawName.allSatisfy { $0 < 0x80 }
            if !isASCII, String(validating: entry.rawName, as: UTF8.self) == nil {
                warnings.add(.moderate, "the name of entry \(shown(entry)) is not UTF-8 and is read as \"\(name)\"")
            }
            if let scalar = name.unicodeScalars.first(where: isForbidden) {
                let code = String(scalar.value, radix: 16, uppercase: true)
                let padded = String(repeating: "0", count: max(0, 4 - code.count)) + code
                warnings.add(.minor, "the name of entry \(shown(entry)) has a character that EPUB does not allow, U+\(padded)")
            }
            // full case folding, which may turn one letter into two
            let folded = isASCII ? name.lowercased() : name.uppercased().lowercased()
            if let other = names[folded] {
                let first = shown(archive.entries[other])
                warnings.add(.minor, "the names of entries \(first) and \(shown(entry)) differ only in upper and lower case")
            } else {
                names[folded] = index
            }
        }
        await checkMimetype(archive, warnings)
    }

    /// Its content is looked for at the 38th byte, which a field before it moves. A password does that, too, and hides it anyway.
    private static func checkMimetype(_ archive: ArchiveFetcher, _ warnings: Warnings) async {
        guard let entry = archive.entry(at: "mimetype"), !entry.isEncrypted,
            let start = try? await EntryStart(of: entry, Link(entry.path), archive.archive),
            start.place.lowerBound > entry.offset + EntryStart.headerLength + Int64(entry.rawName.count)
        else { return }
        warnings.add(.minor, "\"mimetype\" has an extra field in front of its content")
    }

    private static func shown(_ entry: DirectoryEntry) -> String { ArchiveName.printable(entry.rawName) }

    /// EPUB 3.3 §4.2.3; a slash separates, and a backslash is refused before.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7e: "\"*:<>?|".unicodeScalars.contains(scalar)
        case 0..<0x20, 0x7f...0x9f, 0xe000...0xf8ff, 0xfdd0...0xfdef, 0xfff0...0xffff, 0xe0000...0xe0fff, 0xf0000...: true
        default: scalar.value & 0xfffe == 0xfffe
        }
    }
}
