// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelMP4

extension MediaFile {
    /// Reads an OMA DCF.
    init(dcf reader: any ByteReader) throws {
        self.init(.dcf)
        let file = try DCFFile(reader)
        objects = file.objects
        licenses = file.mutableInformation?.rights ?? []
        for object in file.objects {
            add(object.headers)
            if object.headers.cipher != .none { add(.dcf(object.headers.cipher.name)) }
        }
    }

    /// Reads an ISO base media file.
    init(mp4 reader: any ByteReader) throws {
        let fragments = try Self.fragmentsWithoutMovie(reader)
        guard fragments.isEmpty else {
            self.init(.segment)
            try readSystems(of: fragments, reader)
            return
        }
        self.init(.mp4)
        let file = try MP4File(reader)
        let marlin = MarlinTracks.isMarlin(file) ? try MarlinTracks.protections(of: file) : [:]
        for track in file.tracks {
            if let protection = marlin[track.id] {
                add(.marlin(isGrouped: protection.scheme == .groupKey))
                add(contentID: protection.contentID)
                continue
            }
            // tracks of a Marlin file that no descriptor names are clear
            for entry in track.entries { if let protection = entry.protection { try add(protection) } }
            for id in try file.keyIDs(of: track) { add(keyID: id) }
        }
        for system in file.systems { add(system) }
        if file.truncatedBoxAt == nil, let box = try EmbeddedLicense.find(reader).box {
            let content = try box.load(reader, limit: DCFMutableInformation.limit)
            licenses = try DCFMutableInformation(content.rawSpan, base: Int(box.content.lowerBound)).rights
        }
    }

    /// The first fragments of a file without a `moov`; none if the file has one, or no fragments.
    private static func fragmentsWithoutMovie(_ reader: any ByteReader) throws -> [MP4Box] {
        var window = FileWindow(reader)
        var at: Int64 = 0
        var count = 0
        var fragments: [MP4Box] = []
        while reader.length - at >= 8, count <= MP4Box.limit {
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            if box.type == "moov" { return [] }
            if box.type == "moof", !box.isCut, fragments.count < 100 { fragments.append(box) }
            at = box.content.upperBound
            count += 1
        }
        return fragments
    }

    /// Bytes of the boxes of protection systems in fragments, at most.
    private static let systemsLimit = 4 << 20

    /// Reads the boxes of protection systems in fragments.
    private mutating func readSystems(of fragments: [MP4Box], _ reader: any ByteReader) throws {
        var window = FileWindow(reader)
        var systems: [ProtectionSystemHeader] = []
        var bytes = 0
        for fragment in fragments {
            try MP4Box.forEach(in: fragment.content, &window) { box, _ in
                guard box.type == "pssh", systems.count < 1000 else { return }
                bytes += min(box.content.count, Self.systemsLimit)
                guard bytes <= Self.systemsLimit else {
                    throw Malformed("fragments have too many data of protection systems", at: Int(box.start))
                }
                let content = try box.load(reader, limit: 1 << 20)
                if let system = ProtectionSystemHeader(box.type, content.rawSpan) { systems.append(system) }
            }
        }
        for system in systems { add(system) }
    }

    private mutating func add(_ protection: MP4Protection) throws {
        switch protection.scheme {
        case "cenc", "cens", "cbc1", "cbcs": add(.commonEncryption(protection.scheme))
        case "piff": add(.piff)
        case "itun", "drms", "drmi": add(.fairPlay)
        case "aavd", "adrm": add(.audible)
        case "MGSV": add(.marlin(isGrouped: false))
        case "odkm", "iAEC":
            switch try SampleProtection(protection) {
            case .pdcf(let track):
                add(.pdcf(track.headers.cipher.name))
                add(track.headers)
            default: add(.isma)
            }
        default: add(.other(protection.scheme))
        }
    }

    private mutating func add(_ system: ProtectionSystemHeader) {
        add(system: system.name ?? Self.uuid(system.system))
        for id in system.keyIDs { add(keyID: id) }
        switch system.name {
        case "Marlin":
            for entry in MarlinKeyMap.entries(system.data.rawSpan) {
                add(keyID: entry.id)
                add(contentID: entry.contentID)
            }
        case "PlayReady": add(silentLicenseAddress: PlayReadyHeader.licenseAddress(system.data.rawSpan))
        default: break
        }
    }

    /// An id with its dashes.
    static func uuid(_ bytes: [UInt8]) -> String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += Hex.encode([byte])
        }
        return text
    }
}

extension DCFCipher {
    var name: MediaProtection.DCFCipherName {
        switch self {
        case .none: .none
        case .cbc: .cbc
        case .counter: .counter
        }
    }
}
