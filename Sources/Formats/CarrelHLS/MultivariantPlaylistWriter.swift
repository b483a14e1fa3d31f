// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Writes a multivariant playlist: unchanged entries verbatim, and new lines for everything else.
struct MultivariantPlaylistWriter {
    /// The lists of a playlist, in the order in which they are written.
    private enum Group: CaseIterable {
        case variables, sessionData, sessionKeys, renditions, variants, iFrameVariants, imageVariants

        init?(_ tag: PlaylistTag) {
            switch tag {
            case .define: self = .variables
            case .sessionData: self = .sessionData
            case .sessionKey: self = .sessionKeys
            case .rendition: self = .renditions
            case .variant: self = .variants
            case .iFrameVariant: self = .iFrameVariants
            case .imageVariant: self = .imageVariants
            default: return nil
            }
        }
    }

    /// One entry of a list: its current lines, and the original ones if they mean the same.
    private struct Entry {
        let passage: PlaylistPassage?
        let isSame: Bool
        let lines: [UInt8]
    }

    private(set) var out: [UInt8] = []
    private let playlist: MultivariantPlaylist
    private let source: MultivariantPlaylistSource?

    init(_ playlist: MultivariantPlaylist) {
        self.playlist = playlist
        source = playlist.source.place
    }

    mutating func write() throws(PlaylistError) {
        guard let source else {
            out.append(line: "#EXTM3U")
            for tag in Self.headTags { try writeHead(tag) }
            for group in Group.allCases { for entry in try entries(group) { out += entry.lines } }
            return
        }
        try write(source)
    }

    /// Tags of the whole playlist.
    private static let headTags: [PlaylistTag] = [.version, .independentSegments, .start, .contentSteering]

    private mutating func writeHead(_ tag: PlaylistTag) throws(PlaylistError) {
        switch tag {
        case .version: if playlist.version > 1 { out.append(line: "#EXT-X-VERSION:\(playlist.version)") }
        case .independentSegments: if playlist.independentSegments { out.append(line: "#EXT-X-INDEPENDENT-SEGMENTS") }
        case .start: if let start = playlist.start { out.append(line: "#EXT-X-START:\(try start.attributes.text())") }
        default: if let steering = playlist.contentSteering { out.append(line: "#EXT-X-CONTENT-STEERING:\(try steering.text())") }
        }
    }

    private func isSame(_ tag: PlaylistTag, _ original: MultivariantPlaylist) -> Bool {
        switch tag {
        case .version: playlist.version == original.version
        case .independentSegments: playlist.independentSegments == original.independentSegments
        case .start: playlist.start == original.start
        default: playlist.contentSteering == original.contentSteering
        }
    }

    private func entries(_ group: Group) throws(PlaylistError) -> [Entry] {
        let original = source?.original
        var entries: [Entry] = []
        func add(_ passage: PlaylistPassage?, _ isSame: Bool, _ lines: () throws(PlaylistError) -> [UInt8]) throws(PlaylistError)
        {
            let isHome = passage.map { $0.text === source?.text } ?? false
            entries.append(
                Entry(passage: isHome ? passage : nil, isSame: isHome && isSame, lines: isHome && isSame ? [] : try lines())
            )
        }
        func line(_ tag: String, _ list: AttributeList) throws(PlaylistError) -> [UInt8] {
            Array("#EXT-X-\(tag):\(try list.text())\n".utf8)
        }
        func isKnown<T: Hashable>(_ value: T, _ list: [T]?, _ passage: PlaylistPassage?, _ passageOf: (T) -> PlaylistPassage?)
            -> Bool
        {
            // the list is in the order of its lines
            guard let passage, let list else { return false }
            var (low, high) = (0, list.count)
            while low < high {
                let middle = (low + high) / 2
                let offset = passageOf(list[middle])?.range.lowerBound ?? 0
                if offset == passage.range.lowerBound { return list[middle] == value }
                if offset < passage.range.lowerBound { low = middle + 1 } else { high = middle }
            }
            return false
        }
        switch group {
        case .variables:
            for variable in playlist.variables {
                try add(nil, false) { () throws(PlaylistError) in try line("DEFINE", variable.attributes) }
            }
        case .sessionData:
            for data in playlist.sessionData {
                let same = isKnown(data, original?.sessionData, data.source.place) { $0.source.place }
                try add(data.source.place, same) { () throws(PlaylistError) in try line("SESSION-DATA", data.attributes) }
            }
        case .sessionKeys:
            let passages = Dictionary((source?.sessionKeys ?? []).map { ($0.key, $0.passage) }) { first, _ in first }
            for key in playlist.sessionKeys {
                try add(passages[key], true) { () throws(PlaylistError) in try line("SESSION-KEY", key.attributes) }
            }
        case .renditions:
            for rendition in playlist.renditions {
                let same = isKnown(rendition, original?.renditions, rendition.source.place) { $0.source.place }
                try add(rendition.source.place, same) { () throws(PlaylistError) in try line("MEDIA", rendition.attributes) }
            }
        case .variants:
            for variant in playlist.variants {
                let same = isKnown(variant, original?.variants, variant.source.place) { $0.source.place }
                try add(variant.source.place, same) { () throws(PlaylistError) in
                    var list = variant.attributes
                    list["BANDWIDTH"] = .bare(String(variant.bandwidth))
                    if let average = variant.averageBandwidth { list["AVERAGE-BANDWIDTH"] = .bare(String(average)) }
                    if let codecs = variant.codecs { list["CODECS"] = .quoted(codecs) }
                    var lines = try line("STREAM-INF", list)
                    try lines.append(uri: variant.uri)
                    return lines
                }
            }
        case .iFrameVariants:
            for variant in playlist.iFrameVariants {
                let same = isKnown(variant, original?.iFrameVariants, variant.source.place) { $0.source.place }
                try add(variant.source.place, same) { () throws(PlaylistError) in
                    try line("I-FRAME-STREAM-INF", variant.attributes)
                }
            }
        case .imageVariants:
            for variant in playlist.imageVariants {
                let same = isKnown(variant, original?.imageVariants, variant.source.place) { $0.source.place }
                try add(variant.source.place, same) { () throws(PlaylistError) in try line("IMAGE-STREAM-INF", variant.attributes)
                }
            }
        }
        return entries
    }

    private mutating func write(_ source: MultivariantPlaylistSource) throws(PlaylistError) {
        let stored = source.text.bytes
        let bytes = stored.rawSpan
        // of each list: the entries, by the offset of the lines they were read from, or all in one place when they were moved
        var all: [Group: [Entry]] = [:]
        var places: [Int: Entry] = [:]
        var isMoved: Set<Group> = []
        var lastLine: [Group: Int] = [:]
        for group in Group.allCases {
            let entries = try entries(group)
            all[group] = entries
            let offsets = entries.compactMap { $0.passage?.range.lowerBound }
            for entry in entries { if let passage = entry.passage { places[passage.range.lowerBound] = entry } }
            if zip(offsets, offsets.dropFirst()).contains(where: { $0 >= $1 }) { isMoved.insert(group) }
        }
        if playlist.variables != source.original.variables { isMoved.insert(.variables) }
        var headLines: Set<UInt8> = []
        var hasVariables = false
        forEachLine(bytes, 0..<bytes.byteCount) { line in
            guard let tag = line.tag(bytes)?.tag else { return }
            headLines.insert(tag.rawValue)
            if let group = Group(tag) { lastLine[group] = line.offset }
            if tag == .define { hasVariables = true }
        }
        let readOffsets = entryOffsets(source)
        var finishedGroups: Set<Group> = []
        var writtenTags: Set<UInt8> = []
        var next = 0
        var isFirst = true
        while next < bytes.byteCount {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            let tag = line.tag(bytes)?.tag
            if let tag, Self.headTags.contains(tag), !isSame(tag, source.original) {
                if writtenTags.insert(tag.rawValue).inserted { try writeHead(tag) }
            } else if let tag, let group = Group(tag) {
                let end = group == .variants ? variantEnd(bytes, line) : line.next
                if group == .variables && !isMoved.contains(group) {
                    out.append(lines: line.offset..<end, of: source.text)
                } else if isMoved.contains(group) {
                    if finishedGroups.insert(group).inserted { append(all[group] ?? [], source) }
                } else {
                    let entry = places[line.offset]
                    write(entry, at: line.offset..<end, readOffsets, source)
                    if lastLine[group] == line.offset { append((all[group] ?? []).filter { $0.passage == nil }, source) }
                    if lastLine[group] == line.offset { finishedGroups.insert(group) }
                }
                next = end
            } else {
                out.append(lines: line.offset..<line.next, of: source.text)
            }
            guard isFirst, !line.isBlank(bytes) else { continue }
            isFirst = false  // #EXTM3U itself
            for tag in Self.headTags where !headLines.contains(tag.rawValue) { try writeHead(tag) }
            if !hasVariables { append(all[.variables] ?? [], source) }
        }
        for group in Group.allCases where group != .variables && lastLine[group] == nil { append(all[group] ?? [], source) }
    }

    /// Writes the entry of some lines, if it is still in its list.
    private mutating func write(
        _ entry: Entry?,
        at range: Range<Int>,
        _ readOffsets: Set<Int>,
        _ source: MultivariantPlaylistSource
    ) {
        if let entry {
            append([entry], source)
        } else if !readOffsets.contains(range.lowerBound) {
            out.append(lines: range, of: source.text)
        }
    }

    /// The offsets of lines that made an entry when they were read; a lenient reader passes over some.
    private func entryOffsets(_ source: MultivariantPlaylistSource) -> Set<Int> {
        let original = source.original
        var passages = source.sessionKeys.map { Optional($0.passage) }
        passages += original.variants.map(\.source.place) + original.renditions.map(\.source.place)
        passages += original.sessionData.map(\.source.place) + original.iFrameVariants.map(\.source.place)
        passages += original.imageVariants.map(\.source.place)
        return Set(passages.compactMap { $0?.range.lowerBound })
    }

    private mutating func append(_ entries: [Entry], _ source: MultivariantPlaylistSource) {
        for entry in entries {
            if entry.isSame, let passage = entry.passage {
                out.append(lines: passage.range, of: source.text)
            } else {
                if !out.isEmpty, out.last != 0x0a { out.append(0x0a) }
                out += entry.lines
            }
        }
    }

    /// The end of a variant's URI.
    private func variantEnd(_ bytes: RawSpan, _ first: PlaylistLine) -> Int {
        var next = first.next
        while next < bytes.byteCount {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            if !line.isBlank(bytes), bytes.u8(at: line.offset) != UInt8(ascii: "#") { return line.next }
        }
        return bytes.byteCount
    }

    private func forEachLine(_ bytes: RawSpan, _ range: Range<Int>, _ body: (PlaylistLine) -> Void) {
        var next = range.lowerBound
        while next < range.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            body(line)
        }
    }
}
