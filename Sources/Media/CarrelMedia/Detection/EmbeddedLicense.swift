// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelFiles
import CarrelMP4
import Glibc

/// The license that a DCF or PDCF carries (`mdri`, OMA DRM Content Format 2.0).
package enum EmbeddedLicense {
    /// The box `mdri` at the top of a file, and the end of the boxes.
    struct Place {
        var box: MP4Box?
        /// Whether no box follows it.
        var isLast = false
    }

    /// Finds the box.
    static func find(_ reader: any ByteReader) throws -> Place {
        var window = FileWindow(reader)
        var at: Int64 = 0
        var count = 0
        var place = Place()
        // fewer bytes than a header end some files
        while reader.length - at >= 8 {
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            count += 1
            guard count <= 2 * MP4Box.limit else { throw Malformed("too many boxes", at: Int(at)) }
            guard !box.isCut else { throw Malformed("box \(box.type) reaches past the end of the file", at: Int(at)) }
            place.isLast = box.type == "mdri"
            if place.isLast {
                guard place.box == nil else { throw Malformed("there are two boxes mdri", at: Int(at)) }
                place.box = box
            }
            at = box.content.upperBound
        }
        return place
    }

    /// Replaces the embedded licenses of a file. A temporary copy is written and synced, then renamed over the file, so that the
    /// file is complete at any time. The transaction ID is kept.
    ///
    /// - Parameters:
    ///   - licenses: the new licenses; an empty list removes the box if it holds nothing else.
    ///   - path: a DCF, or an MP4 file with PDCF tracks.
    /// - Throws: `media.unsupported` if the file is neither; `media.unavailable`; `Malformed` if it is damaged.
    package static func replace(_ licenses: [[UInt8]], in path: String) throws {
        let file = try LocalFile(resolved(path))
        let media = try MediaFile(file)
        let isPDCF = media.protections.contains { if case .pdcf = $0 { true } else { false } }
        guard media.container == .dcf || isPDCF else {
            throw MediaError(.unsupported, "\(path) is neither a DCF nor a PDCF: it has no place for a license")
        }
        let place = try find(file)
        var information = DCFMutableInformation()
        if let box = place.box {
            let content = try box.load(file, limit: DCFMutableInformation.limit)
            information = try DCFMutableInformation(content.rawSpan, base: Int(box.content.lowerBound))
        }
        information.rights = licenses
        let isEmpty = licenses.isEmpty && information.transactionID == nil && information.otherBoxes.isEmpty
        let new = isEmpty ? [] : information.box
        guard new.count <= DCFMutableInformation.limit else {
            throw MediaError(.unsupported, "the licenses are longer than 1 MiB")
        }
        try refuseOpenEnd(file)
        var status = stat()
        guard unsafe stat(file.path, &status) == 0 else {
            throw MediaError(.unavailable, "\(path) cannot be read: \(systemReason())")
        }
        let copy = try OutputFile(file.path, permissions: status.st_mode & 0o7777)
        // boxes hold offsets from the start of the file: nothing before them may move
        var at: Int64 = 0
        let end = place.isLast ? place.box?.start ?? file.length : file.length
        while at < end {
            let piece = try file.readAll(at..<min(end, at + 1 << 20))
            try copy.write(piece.rawSpan)
            at += Int64(piece.count)
        }
        if let box = place.box, !place.isLast {
            let type = Array("free".utf8)
            let zeros = [UInt8](repeating: 0, count: box.content.count)
            try copy.overwrite(type.rawSpan, at: box.start + 4)
            try copy.overwrite(zeros.rawSpan, at: box.content.lowerBound)
        }
        try copy.write(new.rawSpan)
        try copy.commit()
    }

    /// The target of a path, so that a symbolic link is preserved.
    private static func resolved(_ path: String) throws(MediaError) -> String {
        guard let real = unsafe realpath(path, nil) else {
            throw MediaError(.unavailable, "cannot open \(path): \(systemReason())")
        }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    /// Refuses a file whose last box extends to the end of the file or is truncated: no box can be appended to it.
    private static func refuseOpenEnd(_ file: LocalFile) throws {
        var window = FileWindow(file)
        var at: Int64 = 0
        while at < file.length {
            let box = try MP4Box(&window, at: at, in: 0..<file.length)
            if try window.u32(at: at, "box") == 0 { throw MediaError(.unsupported, "the last box of \(file.path) has no length") }
            at = box.content.upperBound
        }
    }
}
