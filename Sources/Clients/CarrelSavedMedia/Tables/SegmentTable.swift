// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// `StreamInfoBoot.xml`: the files of one stream, in the elements of `movpkg` packages.
package struct SegmentTable: Sendable {
    /// A file of the stream.
    package struct Row: Sendable, Hashable {
        /// The sequence number (`SeqNum`); 0 for heads of media.
        package var sequence: Int64
        /// The name of the file in the folder of the stream.
        package var path: String
        package var isInitialization: Bool
        package var duration: Duration
        /// The start time in the presentation.
        package var start: Duration
        /// Bytes of the stored file; nil until it is known.
        package var length: Int64?
        /// The offset of the segment in the file: 0 in packages of this project.
        package var offset: Int64
        /// Whether the file is sealed.
        package var isSealed = false
        /// The resource; nil in packages of other programs.
        var tag: AddressTag?
        /// The range of the resource; nil for all of it.
        var range: Range<Int64>?
        /// SHA-256 of the stored file; nil until it is known.
        var digest: TableDigest?

        package init(
            sequence: Int64,
            path: String,
            isInitialization: Bool,
            duration: Duration,
            start: Duration,
            length: Int64? = nil,
            offset: Int64 = 0
        ) {
            self.sequence = sequence
            self.path = path
            self.isInitialization = isInitialization
            self.duration = duration
            self.start = start
            self.length = length
            self.offset = offset
        }

        /// The size and digest of the stored file, once both are known.
        package var stored: SavedDigest? {
            guard let length, let digest else { return nil }
            return SavedDigest(length: length, sha256: digest.bytes)
        }
    }

    /// The id of the stream, which is also the name of its folder.
    package var id: String
    package var isComplete: Bool
    /// Bits a second, at most.
    package var bandwidth: Int64
    /// Whether the files are consecutive parts of whole resources.
    package var isWhole = false
    /// Heads of media, then segments.
    package var rows: [Row] = []

    package init(id: String, isComplete: Bool, bandwidth: Int64) {
        self.id = id
        self.isComplete = isComplete
        self.bandwidth = bandwidth
    }

    /// Bytes of all files whose size is known.
    package var bytesStored: Int64 { rows.reduce(0) { $0 + ($1.length ?? 0) } }

    /// The name of the file in the folder of its stream.
    static let fileName = "StreamInfoBoot.xml"

    // MARK: - Reading

    /// Reads a table.
    ///
    /// - Parameters:
    ///   - bytes: the file.
    ///   - name: its name in the package, for errors.
    /// - Throws: `saved.format` with the fault.
    package init(_ bytes: RawSpan, name: String = fileName) throws(SavedMediaError) {
        let visitor = SegmentTableVisitor()
        var reader = XMLReader(
            limits: XMLLimits(
                bytes: SavedLimits.tableBytes,
                depth: 6,
                elements: SavedLimits.pieces + 100,
                attributes: 16,
                text: SavedLimits.addressBytes
            )
        )
        do throws(Malformed) {
            for start in stride(from: 0, to: bytes.byteCount, by: 64 << 10) {
                try reader.read(bytes.extracting(start..<min(start + 64 << 10, bytes.byteCount)), telling: visitor)
                if visitor.fault != nil { break }
            }
            if visitor.fault == nil { try reader.finish(telling: visitor) }
        } catch {
            throw BootImage.fault(name, visitor.fault ?? error.description)
        }
        if let fault = visitor.fault { throw BootImage.fault(name, fault) }
        guard let table = visitor.table else { throw BootImage.fault(name, "it has no ID, Path or Complete") }
        self = table
    }

    // MARK: - Writing

    /// The file.
    package func written() -> [UInt8] {
        var xml = XMLWriter()
        xml.start("StreamInfo", ["xmlns": BootImage.namespace, "xmlns:carrel": BootImage.ownNamespace])
        xml.newLine()
        xml.element("Version", text: "1.0")
        xml.element("ID", text: id)
        xml.element("Path", text: id)
        xml.element("Complete", text: TableNumbers.text(isComplete))
        xml.element("PeakBandwidth", text: "\(bandwidth)")
        xml.element("MediaBytesStored", text: "\(bytesStored)")
        xml.element("Type", text: "Regular")
        if isWhole { xml.element("carrel:Whole", text: "YES") }
        xml.newLine()
        xml.start("MediaInitializationSegments")
        for row in rows where row.isInitialization { Self.write(row, "ISEG", to: &xml) }
        xml.end()
        xml.newLine()
        xml.start("MediaSegments")
        for row in rows where !row.isInitialization { Self.write(row, "SEG", to: &xml) }
        xml.end()
        xml.newLine()
        return xml.finish()
    }

    private static func write(_ row: Row, _ name: StaticString, to xml: inout XMLWriter) {
        xml.newLine()
        let isSegment = !row.isInitialization
        xml.element(
            name,
            [
                "SeqNum": isSegment ? "\(row.sequence)" : nil, "PATH": row.path,
                "Dur": isSegment ? TableNumbers.text(row.duration) : nil, "Len": row.length.map { "\($0)" },
                "Off": "\(row.offset)", "Tim": isSegment ? TableNumbers.text(row.start) : nil,
                "carrel:Sealed": row.isSealed ? "YES" : nil, "carrel:Address": row.tag?.hex,
                "carrel:Range": row.range.map { TableNumbers.text($0) },
                "carrel:SHA256": row.digest.map { Hex.encode($0.bytes) },
            ]
        )
    }
}
