// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// Reads the rows of a segment table as they arrive, because a table may have a million.
final class SegmentTableVisitor: XMLVisitor {
    /// The first fault.
    private(set) var fault: String?
    private var depth = 0
    /// The name of the child of the root that is open.
    private var field = ""
    private var texts: [String: String] = [:]
    private var heads: [SegmentTable.Row] = []
    private var segments: [SegmentTable.Row] = []
    private var paths: Set<String> = []

    /// The children of the root whose text is read.
    private static let fields: Set<String> = ["Version", "ID", "Path", "Complete", "PeakBandwidth", "Whole"]

    var takesText: Bool { depth == 2 && Self.fields.contains(field) }

    /// The table, after the end of the document; nil if a required element is absent.
    var table: SegmentTable? {
        guard texts["Version"] == "1.0", let id = texts["ID"], let path = texts["Path"], PlainName.isValid(path), id == path,
            let complete = texts["Complete"].flatMap({ TableNumbers.flag($0) }),
            let bandwidth = TableNumbers.integer(texts["PeakBandwidth"] ?? "0")
        else { return nil }
        var table = SegmentTable(id: id, isComplete: complete, bandwidth: bandwidth)
        table.isWhole = texts["Whole"] == "YES"
        table.rows = heads + segments
        return table
    }

    func start(_ tag: borrowing XMLTag) {
        depth += 1
        guard fault == nil else { return }
        switch depth {
        case 1:
            if !tag.isNamed("StreamInfo") || !tag.isIn("http://apple.com/IMG/Schemas/HLSMoviePackage") {
                fault = "it is not a StreamInfo"
            }
        case 2:
            field = tag.local
            if Self.fields.contains(field), texts.updateValue("", forKey: field) != nil { fault = "\(field) repeats" }
        case 3 where field == "MediaInitializationSegments" && tag.isNamed("ISEG"): add(tag, isInitialization: true)
        case 3 where field == "MediaSegments" && tag.isNamed("SEG"): add(tag, isInitialization: false)
        default: break
        }
    }

    func take(_ text: String) {
        guard depth == 2, Self.fields.contains(field) else { return }
        texts[field, default: ""] += text
    }

    func end() { depth -= 1 }

    private func add(_ tag: borrowing XMLTag, isInitialization: Bool) {
        let place = isInitialization ? heads.count : segments.count
        let name = isInitialization ? "ISEG \(place)" : "SEG \(place)"
        guard heads.count + segments.count < SavedLimits.pieces else {
            fault = "it has more than \(SavedLimits.pieces) segments"
            return
        }
        guard let path = tag["PATH"], PlainName.isValid(path), path != SegmentTable.fileName else {
            fault = "\(name) has no plain PATH"
            return
        }
        guard paths.insert(path).inserted else {
            fault = "\(name) has the PATH of another"
            return
        }
        guard let sequence = TableNumbers.integer(tag["SeqNum"] ?? "0"), let offset = TableNumbers.integer(tag["Off"] ?? "0"),
            let duration = TableNumbers.seconds(tag["Dur"] ?? "0"), let start = TableNumbers.seconds(tag["Tim"] ?? "0")
        else {
            fault = "a number of \(name) is malformed"
            return
        }
        var row = SegmentTable.Row(
            sequence: sequence,
            path: path,
            isInitialization: isInitialization,
            duration: duration,
            start: start,
            offset: offset
        )
        guard read("Len", tag, { TableNumbers.integer($0) }, into: &row.length),
            read("Range", tag, { TableNumbers.range($0) }, into: &row.range),
            read("Address", tag, { AddressTag($0) }, into: &row.tag),
            read("SHA256", tag, { TableDigest(hex: $0) }, into: &row.digest)
        else {
            fault = "a length, range, address or digest of \(name) is malformed"
            return
        }
        row.isSealed = tag.has("Sealed", "YES")
        if isInitialization { heads.append(row) } else { segments.append(row) }
    }

    /// Reads an attribute that a row may have.
    ///
    /// - Returns: false if it is malformed.
    private func read<Value>(
        _ name: StaticString,
        _ tag: borrowing XMLTag,
        _ parse: (String) -> Value?,
        into value: inout Value?
    ) -> Bool {
        guard let text = tag.value(name) else { return true }
        value = parse(text)
        return value != nil
    }
}
