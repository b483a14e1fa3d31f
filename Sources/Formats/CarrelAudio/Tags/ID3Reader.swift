// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads the frames of one ID3v2 tag.
struct ID3Reader {
    let version: UInt8
    var hasExtendedHeader = false
    /// Whether every frame of a version 2.4 tag is unsynchronised.
    var unsynchronized = false

    private var tags = AudioTags()
    private var coverIsFront = false
    private var dateRank = Int.max
    private var commentRank = Int.max

    /// No tag has more chapters than this; the rest is dropped.
    private static let chapterLimit = 10_000
    private static let textLimit = 1 << 16

    init(version: UInt8) {
        self.version = version
    }

    consuming func finish() -> AudioTags {
        tags.chapters.sort { $0.start < $1.start }
        return tags
    }

    mutating func read(_ body: RawSpan) {
        var start = 0
        if hasExtendedHeader, body.byteCount >= 4 {
            let word = body.u32(at: 0)
            start = version == 4 ? Self.synchsafe(word) ?? 0 : Int(word) + 4
        }
        forEachFrame(body, from: start) { id, data in take(id, data) }
    }

    // MARK: - Frames

    /// Calls `take` with the identifier and content of each frame, until one is damaged or padding begins.
    private func forEachFrame(_ body: RawSpan, from start: Int, _ take: (String, RawSpan) -> Void) {
        let headerLength = version == 2 ? 6 : 10
        var at = start
        while at >= 0, body.byteCount - at >= headerLength, let id = identifier(body, at) {
            guard let size = frameSize(body, at) else { return }
            let content = at + headerLength
            let data = body.extracting(content..<content + size)
            at = content + size
            guard version > 2 else {
                take(id, data)
                continue
            }
            let flags = body.u8(at: content - 1)
            version == 4 ? unwrap4(id, data, flags, take) : unwrap3(id, data, flags, take)
        }
    }

    private func identifier(_ body: RawSpan, _ at: Int) -> String? {
        var id = ""
        for i in 0..<(version == 2 ? 3 : 4) {
            let byte = body.u8(at: at + i)
            guard (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) else { return nil }
            id.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return id
    }

    /// The size of the frame's content; nil if it does not fit.
    ///
    /// Versions 2.3 and 2.4 encode it differently and taggers confuse them, so the interpretation that leads to another frame is
    /// used.
    private func frameSize(_ body: RawSpan, _ at: Int) -> Int? {
        if version == 2 {
            let size = Int(body.u32(at: at + 2) & 0xff_ffff)
            return size <= body.byteCount - at - 6 ? size : nil
        }
        let word = body.u32(at: at + 4)
        let plain = Int(word)
        let safe = Self.synchsafe(word) ?? plain
        let candidates = version == 4 ? [safe, plain] : [plain, safe]
        func leadsOn(_ size: Int) -> Bool {
            let next = at + 10 + size
            if next == body.byteCount { return true }
            guard next < body.byteCount else { return false }
            if body.u8(at: next) == 0 { return true }
            return body.byteCount - next >= 10 && identifier(body, next) != nil
        }
        if let size = candidates.first(where: leadsOn) { return size }
        return candidates[0] <= body.byteCount - at - 10 ? candidates[0] : nil
    }

    private func unwrap3(_ id: String, _ data: RawSpan, _ flags: UInt8, _ take: (String, RawSpan) -> Void) {
        if flags & 0xc0 != 0 { return }  // compressed or encrypted
        let skip = flags & 0x20 != 0 ? 1 : 0
        if data.byteCount >= skip { take(id, data.extracting(skip..<data.byteCount)) }
    }

    private func unwrap4(_ id: String, _ data: RawSpan, _ flags: UInt8, _ take: (String, RawSpan) -> Void) {
        if flags & 0x0c != 0 { return }
        let skip = (flags & 0x40 != 0 ? 1 : 0) + (flags & 0x01 != 0 ? 4 : 0)
        guard data.byteCount >= skip else { return }
        let content = data.extracting(skip..<data.byteCount)
        if unsynchronized || flags & 0x02 != 0 {
            let plain = Self.synchronized(content)
            take(id, plain.rawSpan)
        } else {
            take(id, content)
        }
    }

    private mutating func take(_ id: String, _ data: RawSpan) {
        switch id {
        case "TIT2", "TT2": tags.title = tags.title ?? text(data)
        case "TIT3", "TT3": tags.subtitle = tags.subtitle ?? text(data)
        case "TALB", "TAL": tags.album = tags.album ?? text(data)
        case "TPE1", "TP1": if tags.artists.isEmpty { tags.artists = names(data) }
        case "TPE2", "TP2": if tags.albumArtists.isEmpty { tags.albumArtists = names(data) }
        case "TCOM", "TCM": if tags.composers.isEmpty { tags.composers = names(data) }
        case "TPUB", "TPB": tags.publisher = tags.publisher ?? text(data)
        case "TCOP", "TCR": tags.copyright = tags.copyright ?? text(data)
        case "TDRC": date(data, rank: 0)
        case "TYER", "TYE": date(data, rank: 1)
        case "TDRL": date(data, rank: 2)
        case "TDOR", "TORY", "TOR": date(data, rank: 3)
        case "TLAN", "TLA": tags.language = tags.language ?? text(data)
        case "TCON", "TCO": tags.genre = tags.genre ?? text(data).map(GenreList.name)
        case "TDES": tags.description = tags.description ?? text(data)
        case "TRCK", "TRK": tags.track = tags.track ?? text(data).flatMap(AudioTags.Number.init(text:))
        case "TPOS", "TPA": tags.disc = tags.disc ?? text(data).flatMap(AudioTags.Number.init(text:))
        case "TXXX", "TXX": userText(data)
        case "COMM", "COM": comment(data)
        case "APIC", "PIC": picture(data)
        case "CHAP": chapter(data)
        default: break
        }
    }

    // MARK: - Contents

    private mutating func date(_ data: RawSpan, rank: Int) {
        guard rank < dateRank, let text = text(data) else { return }
        tags.date = text
        dateRank = rank
    }

    private mutating func userText(_ data: RawSpan) {
        guard data.byteCount > 1, let parts = splitText(data, from: 1) else { return }
        guard let name = TagText.trimmed(decode(parts.text, data.u8(at: 0))) else { return }
        tags.set(named: name, to: strings(decode(parts.remainder, data.u8(at: 0))))
    }

    private mutating func comment(_ data: RawSpan) {
        guard data.byteCount > 4, let parts = splitText(data, from: 4) else { return }
        let name = TagText.trimmed(decode(parts.text, data.u8(at: 0)))
        if let name, name.hasPrefix("iTun") { return }
        let rank = name == nil ? 0 : 1
        guard rank < commentRank, let text = strings(decode(parts.remainder, data.u8(at: 0))).first else { return }
        tags.comment = text
        commentRank = rank
    }

    private mutating func picture(_ data: RawSpan) {
        guard data.byteCount > 6 else { return }
        var kindAt = 4
        if version > 2 {
            kindAt = 1
            while kindAt < data.byteCount, data.u8(at: kindAt) != 0 { kindAt += 1 }
            kindAt += 1
        }
        guard kindAt + 1 < data.byteCount, let parts = splitText(data, from: kindAt + 1) else { return }
        let isFront = data.u8(at: kindAt) == 3
        guard tags.cover == nil || (isFront && !coverIsFront), parts.remainder.byteCount <= AudioTags.Cover.limit else { return }
        guard let cover = AudioTags.Cover([UInt8](copying: parts.remainder)) else { return }
        tags.cover = cover
        coverIsFront = isFront
    }

    /// `CHAP` of the ID3v2 Chapter Frame Addendum §3.1.
    private mutating func chapter(_ data: RawSpan) {
        guard tags.chapters.count < Self.chapterLimit else { return }
        var at = 0
        while at < data.byteCount, data.u8(at: at) != 0 { at += 1 }
        guard data.byteCount - at >= 17 else { return }
        let start = Int64(data.u32(at: at + 1))
        var title = ""
        forEachFrame(data, from: at + 17) { id, content in
            if id == "TIT2", title.isEmpty { title = text(content) ?? "" }
        }
        tags.chapters.append(AudioTags.Chapter(start: start, title: title))
    }

    // MARK: - Text

    private func text(_ data: RawSpan) -> String? {
        guard data.byteCount > 1 else { return nil }
        return strings(decode(data.extracting(1..<data.byteCount), data.u8(at: 0))).first
    }

    /// Several people: separated by NUL in version 2.4, by a slash before.
    private func names(_ data: RawSpan) -> [String] {
        guard data.byteCount > 1 else { return [] }
        let values = strings(decode(data.extracting(1..<data.byteCount), data.u8(at: 0)))
        if version == 4, values.count > 1 { return values }
        return values.flatMap { $0.split { $0 == ";" || (version < 4 && $0 == "/") }.compactMap { TagText.trimmed(String($0)) } }
    }

    private func strings(_ text: String) -> [String] {
        text.unicodeScalars.split(separator: "\0").compactMap { TagText.trimmed(String($0)) }
    }

    private func decode(_ data: RawSpan, _ encoding: UInt8) -> String {
        let data = data.extracting(0..<min(data.byteCount, Self.textLimit))
        switch encoding {
        case 0: return TagText.latin1(data)
        case 1: return TagText.utf16(data, bigEndian: false)
        case 2: return TagText.utf16(data, bigEndian: true)
        default: return TagText.utf8(data)
        }
    }

    /// Splits the bytes from `start` on at their first terminator; the first byte of `data` is the encoding.
    @_lifetime(copy data)
    private func splitText(_ data: RawSpan, from start: Int) -> TerminatedText? {
        let width = data.u8(at: 0) == 1 || data.u8(at: 0) == 2 ? 2 : 1
        var at = start
        while at + width <= data.byteCount {
            if data.u8(at: at) == 0, width == 1 || data.u8(at: at + 1) == 0 {
                return TerminatedText(text: data.extracting(start..<at), remainder: data.extracting(at + width..<data.byteCount))
            }
            at += width
        }
        return nil
    }
}

/// Text up to its terminator, and the remaining bytes.
private struct TerminatedText: ~Escapable {
    let text: RawSpan
    let remainder: RawSpan

    @_lifetime(copy text, copy remainder)
    init(text: RawSpan, remainder: RawSpan) {
        self.text = text
        self.remainder = remainder
    }
}

extension ID3Reader {
    /// The number in four bytes of seven bits each; nil when a top bit is set.
    static func synchsafe(_ word: UInt32) -> Int? {
        guard word & 0x8080_8080 == 0 else { return nil }
        return Int(word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000)
    }

    /// The bytes with the zero after each 0xFF taken out (ID3v2.4 §6.1).
    static func synchronized(_ bytes: RawSpan) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.byteCount)
        var previous: UInt8 = 0
        for i in 0..<bytes.byteCount {
            let byte = bytes.u8(at: i)
            if !(previous == 0xff && byte == 0) { out.append(byte) }
            previous = byte
        }
        return out
    }
}
