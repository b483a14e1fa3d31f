// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The changes that convert a file with Common Encryption or PIFF into one that is declared clear, without moving a byte.
///
/// Protected sample entries get their original type. Boxes that describe the protection (`sinf`, `pssh`, `senc`, `saiz`, `saio`,
/// `seig` groups, PIFF's `uuid` boxes) become free space of the same length (`free`, ISO/IEC 14496-12 §8.1.2). So every offset in
/// the file remains valid, and a range of the clear file is the same range of the protected one.
package struct ProtectionRemoval: Sendable {
    /// Bytes that take the place of others.
    package struct Patch: Sendable, Hashable {
        /// Their offset in the file.
        package var offset: Int64
        /// The bytes.
        package var bytes: [UInt8]
        /// Number of zero bytes after them.
        package var zeros: Int
    }

    /// In the order of the file.
    package private(set) var patches: [Patch] = []

    private static let containers: Set<FourCC> = ["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"]
    private static let limit = 1 << 16
    /// Maximum nesting of containers: `moov`, `trak`, `mdia`, `minf`, `stbl`.
    private static let depthLimit = 5

    /// The handler of the track on its way.
    private var handler: FourCC?

    private init() {}

    /// The patches for one box of a file: for `moov`, `moof`, `ftyp`, `styp`, `pssh` and PIFF's boxes; none for others.
    ///
    /// - Parameters:
    ///   - box: a top-level box of the file.
    ///   - tracks: the tracks that are decrypted; other tracks remain protected.
    ///   - window: reads the file.
    /// - Throws: the errors of the reader; `Malformed` if a box is damaged.
    package init(of box: MP4Box, tracks: Set<UInt32>, _ window: inout FileWindow) throws {
        switch box.type {
        case "ftyp", "styp": try patchBrands(box, &window)
        case "moov", "moof": try descend(box, tracks, isWanted: true, depth: 0, &window)
        case "pssh", "uuid": try patch(box, isWanted: true, &window)
        default: break
        }
    }

    private mutating func add(_ offset: Int64, _ bytes: [UInt8], zeros: Int = 0) throws {
        guard patches.count < Self.limit else { throw Malformed("too many boxes of protection", at: Int(offset)) }
        patches.append(Patch(offset: offset, bytes: bytes, zeros: zeros))
    }

    private mutating func blank(_ box: MP4Box) throws {
        try add(box.start + 4, Array("free".utf8))
        try add(box.content.lowerBound, [], zeros: box.content.count)
    }

    /// PIFF's brand is one of its promises; the ISO brand of its time has the same fragments.
    private mutating func patchBrands(_ box: MP4Box, _ window: inout FileWindow) throws {
        for at in stride(from: box.content.lowerBound, to: box.content.upperBound - 3, by: 4).prefix(1024)
        where try FourCC(window.u32(at: at, "brand")) == "piff" {
            try add(at, Array("iso6".utf8))
        }
    }

    private mutating func descend(
        _ parent: MP4Box,
        _ tracks: Set<UInt32>,
        isWanted: Bool,
        depth: Int,
        _ window: inout FileWindow
    ) throws {
        guard depth < Self.depthLimit else { throw Malformed("boxes lie too deep in each other", at: Int(parent.start)) }
        var isWanted = isWanted
        if parent.type == "trak" || parent.type == "traf" { isWanted = try Self.names(parent, tracks, &window) }
        if parent.type == "trak" { handler = nil }
        try MP4Box.forEach(in: parent.content, &window) { box, window in
            if Self.containers.contains(box.type) {
                try descend(box, tracks, isWanted: isWanted, depth: depth + 1, &window)
            } else if box.type == "hdlr", parent.type == "mdia" {
                handler = FourCC(try window.u32(at: box.content.lowerBound + 8, "handler"))
            } else if box.type == "stsd" {
                if isWanted { try patchEntries(box, &window) }
            } else {
                try patch(box, isWanted: isWanted, &window)
            }
        }
    }

    /// Whether a track or its part of a fragment is one of `tracks`.
    private static func names(_ parent: MP4Box, _ tracks: Set<UInt32>, _ window: inout FileWindow) throws -> Bool {
        var isNamed = false
        try MP4Box.forEach(in: parent.content, &window) { box, window in
            let at = box.content.lowerBound
            if box.type == "tfhd" { isNamed = tracks.contains(try window.u32(at: at + 4, "fragment header")) }
            if box.type == "tkhd" {
                let isLong = try window.u8(at: at, "track header") == 1
                isNamed = tracks.contains(try window.u32(at: at + (isLong ? 20 : 12), "track header"))
            }
        }
        return isNamed
    }

    private mutating func patch(_ box: MP4Box, isWanted: Bool, _ window: inout FileWindow) throws {
        let at = box.content.lowerBound
        switch box.type {
        case "pssh": try blank(box)
        case "senc", "saiz", "saio": if isWanted { try blank(box) }
        case "sgpd", "sbgp":
            if isWanted, box.content.count >= 8, try FourCC(window.u32(at: at + 4, "sample group")) == "seig" { try blank(box) }
        case "uuid":
            guard box.content.count >= 16 else { return }
            var type: [UInt8] = []
            type.append(bigEndian: try window.u64(at: at, "uuid box"))
            type.append(bigEndian: try window.u64(at: at + 8, "uuid box"))
            let isPIFF = type == TrackEncryption.piffSystem || isWanted && type == TrackEncryption.piffSamples
            if isPIFF { try blank(box) }
        default: break
        }
    }

    /// Gives protected entries their original type, and makes their `sinf` boxes free space.
    private mutating func patchEntries(_ table: MP4Box, _ window: inout FileWindow) throws {
        guard table.content.count >= 8 else { return }
        let entries = table.content.lowerBound + 8..<table.content.upperBound
        try MP4Box.forEach(in: entries, &window) { entry, window in
            let fixed = try fields(of: entry, in: table, &window)
            var at = entry.content.lowerBound + fixed
            while let child = try Self.child(at: at, of: entry, &window) {
                if child.type == "sinf" { try patchProtection(child, of: entry, &window) }
                at = child.content.upperBound
            }
        }
    }

    /// Bytes of an entry in front of its boxes.
    private func fields(of entry: MP4Box, in table: MP4Box, _ window: inout FileWindow) throws -> Int64 {
        switch (handler, entry.type) {
        case ("vide", _), (_, "encv"): return 78
        case ("soun", _), (_, "enca"):
            // QuickTime has longer entries
            let version = try window.u8(at: table.content.lowerBound, "sample description")
            let layout = entry.content.count >= 10 ? try window.u16(at: entry.content.lowerBound + 8, "sample entry") : 0
            return version == 0 && layout == 1 ? 44 : version == 0 && layout == 2 ? 64 : 28
        default: return 8
        }
    }

    /// A box in an entry; nil after the last one. Other bytes end the boxes: entries of other kinds have fields there.
    private static func child(at start: Int64, of entry: MP4Box, _ window: inout FileWindow) throws -> MP4Box? {
        guard entry.content.upperBound - start >= 8 else { return nil }
        do {
            let box = try MP4Box(&window, at: start, in: entry.content)
            return box.isCut ? nil : box
        } catch is Malformed {
            return nil
        }
    }

    private mutating func patchProtection(_ information: MP4Box, of entry: MP4Box, _ window: inout FileWindow) throws {
        try MP4Box.forEach(in: information.content, &window) { box, window in
            guard box.type == "frma", box.content.count >= 4 else { return }
            var original: [UInt8] = []
            original.append(bigEndian: try window.u32(at: box.content.lowerBound, "original format"))
            try add(entry.start + 4, original)
        }
        try blank(information)
    }
}
