// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
package import CarrelMP4

/// Reads the boxes of a DCF, independently of how its bytes are fetched: requests ranges of bytes, and takes them.
///
/// ```swift
/// var scan = DCFScan(length: length)
/// while let range = scan.wanted { try scan.take(bytes(range)) }
/// let file = try scan.finish()
/// ```
package struct DCFScan: Sendable {
    /// The bytes of the file that ``take(_:)`` gets next; nil at the end. At most 1 MiB.
    package private(set) var wanted: Range<Int64>?

    private let length: Int64
    private var file = DCFFile()
    private var step = Step.box
    /// The offset of the next box.
    private var at: Int64 = 0
    private var open: OpenObject?
    private var boxCount = 0
    private var headerBytes = 0
    private var isDCF = false
    /// Whether the box before the current one is an object.
    private var followsObject = false

    /// The meaning of the requested bytes.
    private enum Step {
        case box
        case brands
        case headers
        case data(Box)
        case extendedType(Box)
        case mutableInformation
    }

    private struct Box {
        var type: FourCC
        var start: Int64
        var content: Range<Int64>
    }

    /// The container that is being read.
    private struct OpenObject {
        var start: Int64
        var end: Int64
        var head: Head?
        var payload: EncryptedPayload?
    }

    private struct Head {
        var contentType: String
        var headers: DCFHeaders
        var userData: [DCFUserDataEntry]
    }

    /// Objects of one file, at most.
    package static let objectLimit = 1000
    private static let boxLimit = 10_000
    /// Bytes of the headers of one object, and of all.
    private static let headerLimit = 1 << 20
    private static let totalHeaderLimit = 8 << 20

    /// - Parameter length: bytes of the file.
    package init(length: Int64) {
        self.length = max(0, length)
        wanted = 0..<min(16, self.length)
    }

    /// Returns the result after all requested bytes were taken.
    ///
    /// - Throws: `Malformed` if bytes are still requested.
    package func finish() throws(Malformed) -> DCFFile {
        guard wanted == nil else { throw Malformed("file ended early", at: Int(at)) }
        return file
    }

    /// Takes the requested bytes.
    ///
    /// - Parameter bytes: the bytes of ``wanted``.
    /// - Throws: `Malformed` with the fault and its offset in the file.
    package mutating func take(_ bytes: RawSpan) throws(Malformed) {
        guard let wanted else { return }
        guard bytes.byteCount == wanted.count else {
            throw Malformed("file ended early", at: Int(wanted.lowerBound) + bytes.byteCount)
        }
        let base = Int(wanted.lowerBound)
        switch step {
        case .box: return try takeBox(bytes)
        case .brands: try takeBrands(bytes)
        case .headers: open?.head = try Self.head(bytes, base)
        case .data(let box):
            let payload = try payload(bytes, box)
            open?.payload = payload
        case .extendedType(let box): try takeTags(bytes, box)
        case .mutableInformation: file.mutableInformation = try DCFMutableInformation(bytes, base: base)
        }
        try nextBox()
    }

    /// The end of the range that contains the next box.
    private var limit: Int64 { open?.end ?? length }

    /// Goes on with the box at `at`, out of a container that ends there.
    private mutating func nextBox() throws(Malformed) {
        step = .box
        if let object = open, at == object.end {
            guard let head = object.head else { throw Malformed("object has no headers", at: Int(object.start)) }
            guard let payload = object.payload else { throw Malformed("object has no data", at: Int(object.start)) }
            file.objects.append(
                DCFObject(
                    start: object.start,
                    contentType: head.contentType,
                    headers: head.headers,
                    userData: head.userData,
                    payload: payload
                )
            )
            open = nil
            followsObject = true
        }
        guard open == nil, at == length else {
            wanted = at..<at + min(16, limit - at)
            return
        }
        guard !file.objects.isEmpty else { throw Malformed("file has no objects", at: Int(at)) }
        wanted = nil
    }

    private mutating func want(_ range: Range<Int64>, _ step: Step) {
        wanted = range
        self.step = step
    }

    private mutating func takeBox(_ bytes: RawSpan) throws(Malformed) {
        let box = try box(bytes)
        boxCount += 1
        guard boxCount <= Self.boxLimit else { throw Malformed("too many boxes", at: Int(at)) }
        if !isDCF, box.type != "ftyp" { throw Malformed("not a DCF", at: 0) }
        at = box.content.upperBound
        let count = box.content.count
        let follows = followsObject
        followsObject = false
        switch (box.type, open != nil) {
        case ("ftyp", false):
            guard !isDCF else { throw Malformed("there are two file types", at: Int(box.start)) }
            guard (8...4096).contains(count) else { throw Malformed("file type has an impossible size", at: Int(box.start)) }
            want(box.content, .brands)
        case ("odrm", false):
            guard file.objects.count < Self.objectLimit else { throw Malformed("too many objects", at: Int(box.start)) }
            guard count >= 4 else { throw Malformed("object is cut off", at: Int(box.start)) }
            open = OpenObject(start: box.start, end: box.content.upperBound)
            at = box.content.lowerBound + 4
            try nextBox()
        case ("mdri", false):
            guard file.mutableInformation == nil else { throw Malformed("there are two boxes mdri", at: Int(box.start)) }
            guard count <= DCFMutableInformation.limit else { throw Malformed("box mdri is too large", at: Int(box.start)) }
            want(box.content, .mutableInformation)
        case ("uuid", false) where follows && count >= 32:
            want(box.content.lowerBound..<box.content.lowerBound + 32, .extendedType(box))
        case ("odhe", true):
            guard open?.head == nil else { throw Malformed("object has two boxes odhe", at: Int(box.start)) }
            headerBytes += min(count, Self.totalHeaderLimit)
            guard count <= Self.headerLimit, headerBytes <= Self.totalHeaderLimit else {
                throw Malformed("headers are too large", at: Int(box.start))
            }
            want(box.content, .headers)
        case ("odda", true):
            guard open?.head != nil else { throw Malformed("data come before the headers", at: Int(box.start)) }
            guard open?.payload == nil else { throw Malformed("object has two boxes odda", at: Int(box.start)) }
            guard count >= 12 else { throw Malformed("data are cut off", at: Int(box.start)) }
            want(box.content.lowerBound..<box.content.lowerBound + min(28, Int64(count)), .data(box))
        default: try nextBox()
        }
    }

    /// The header of a box, which must lie inside its parent.
    private func box(_ bytes: RawSpan) throws(Malformed) -> Box {
        let place = Int(at)
        guard bytes.byteCount >= 8 else { throw Malformed("box header is cut off", at: place) }
        let type = FourCC(bytes.u32(at: 4))
        var size = UInt64(bytes.u32(at: 0))
        var header: Int64 = 8
        if size == 1 {
            guard bytes.byteCount >= 16 else { throw Malformed("box header is cut off", at: place) }
            size = bytes.u64(at: 8)
            header = 16
        }
        let room = UInt64(limit - at)
        if size == 0 { size = room }
        guard size >= UInt64(header) else { throw Malformed("box \(type) is smaller than its header", at: place) }
        guard size <= room else {
            let what = open == nil ? "the end of the file" : "its parent"
            throw Malformed("box \(type) reaches past \(what)", at: place)
        }
        return Box(type: type, start: at, content: at + header..<at + Int64(size))
    }

    private mutating func takeBrands(_ bytes: RawSpan) throws(Malformed) {
        let brands = stride(from: 0, to: bytes.byteCount - 3, by: 4).filter { $0 != 4 }.map { FourCC(bytes.u32(at: $0)) }
        guard brands.contains("odcf") else { throw Malformed("not a DCF", at: 0) }
        isDCF = true
        file.version = bytes.u32(at: 4)
    }

    /// Reads the first bytes of a box after an object: its extended type, and the header of the tags.
    private mutating func takeTags(_ bytes: RawSpan, _ box: Box) throws(Malformed) {
        guard [UInt8](copying: bytes.extracting(first: 16)) == PayloadTags.boxType else { return }
        guard let object = file.objects.last else { return }
        guard object.payload.cipher != .none else {
            throw Malformed("there are tags for an object that is not encrypted", at: Int(box.start))
        }
        file.objects[file.objects.count - 1].tags = try PayloadTagTable(
            bytes.extracting(droppingFirst: 16),
            content: box.content.lowerBound + 16..<box.content.upperBound,
            head: object.start..<object.payload.start - 16,
            encryptedLength: object.payload.encryptedLength
        )
    }

    private static func head(_ bytes: RawSpan, _ base: Int) throws(Malformed) -> Head {
        var cursor = ByteCursor(bytes)
        var contentType = ""
        do throws(Malformed) {
            guard try cursor.u32("object headers") >> 24 == 0 else {
                throw Malformed("object headers have an unknown version", at: 0)
            }
            let count = Int(try cursor.u8("content type"))
            contentType = try OMAText.read(cursor.slice(count, "content type"), "content type", at: 5)
        } catch {
            throw error.moved(by: base)
        }
        var headers: DCFHeaders?
        var userData: [DCFUserDataEntry] = []
        let start = base + cursor.position
        try MemoryBoxList.forEach(in: bytes.extracting(droppingFirst: cursor.position), base: start) {
            type,
            _,
            content,
            at throws(Malformed) in
            switch type {
            case "ohdr":
                guard headers == nil else { throw Malformed("object has two boxes ohdr", at: at - 8) }
                headers = try DCFHeaders(content, base: at)
            case "udta":
                try MemoryBoxList.forEach(in: content, base: at) { type, _, content, _ throws(Malformed) in
                    userData.append(DCFUserDataEntry(type, content))
                }
            default: break
            }
        }
        guard let headers else { throw Malformed("object has no box ohdr", at: base) }
        return Head(contentType: contentType, headers: headers, userData: userData)
    }

    /// Reads the first bytes of `odda`: version, length, initialization vector.
    private func payload(_ bytes: RawSpan, _ box: Box) throws(Malformed) -> EncryptedPayload {
        let place = Int(box.content.lowerBound)
        guard let headers = open?.head?.headers else { throw Malformed("data come before the headers", at: place) }
        guard bytes.u32(at: 0) >> 24 == 0 else { throw Malformed("data have an unknown version", at: place) }
        guard let length = Int64(exactly: bytes.u64(at: 4)), length == Int64(box.content.count) - 12 else {
            throw Malformed("data length is not that of the box", at: place + 4)
        }
        let isEncrypted = headers.cipher != .none
        let ivLength: Int64 = isEncrypted ? 16 : 0
        guard length >= ivLength else { throw Malformed("initialization vector is cut off", at: place + 12) }
        let iv = isEncrypted ? AESBlock(bytes.extracting(12..<28)) : nil
        return try EncryptedPayload(
            headers.cipher,
            start: box.content.lowerBound + 12 + ivLength,
            encryptedLength: length - ivLength,
            iv: iv ?? AESBlock(high: 0, low: 0),
            isPadded: headers.isPadded,
            clearLength: headers.clearLength
        )
    }
}

extension DCFFile {
    /// Reads the boxes of a file.
    ///
    /// - Parameter reader: the file.
    /// - Throws: what the reader throws; `Malformed` with the fault and its place in the file.
    package init(_ reader: any ByteReader) throws {
        var scan = DCFScan(length: reader.length)
        while let range = scan.wanted {
            let bytes = try reader.readAll(range)
            try scan.take(bytes.rawSpan)
        }
        self = try scan.finish()
    }
}
