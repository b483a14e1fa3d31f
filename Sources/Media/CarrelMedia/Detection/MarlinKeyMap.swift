// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// Content ids by key id, in the data of Marlin's protection system header (boxes `marl`, `mkid`).
enum MarlinKeyMap {
    struct Entry: Hashable {
        var id: KeyID
        var contentID: String
    }

    private static let limit = 1000

    /// Reads the entries; a damaged list ends at the damage.
    static func entries(_ data: RawSpan) -> [Entry] {
        var found: [Entry] = []
        MemoryBoxes.forEach(in: data) { type, content in
            switch type {
            case "marl": MemoryBoxes.forEach(in: content) { if $0 == "mkid" { try? read($1, into: &found) } }
            case "mkid": try? read(content, into: &found)
            default: break
            }
        }
        return found
    }

    private static func read(_ content: RawSpan, into found: inout [Entry]) throws(Malformed) {
        var cursor = ByteCursor(content)
        try cursor.skip(4)
        let count = try cursor.u32()
        guard count <= limit else { return }
        for _ in 0..<count {
            let size = Int(try cursor.u32())
            var entry = ByteCursor(try cursor.slice(size))
            guard let id = KeyID(try entry.slice(16)) else { return }
            let text = [UInt8](copying: try entry.slice(entry.remaining)).prefix { $0 != 0 }
            found.append(Entry(id: id, contentID: String(decoding: text, as: UTF8.self)))
        }
    }
}
