import CarrelBytes
import CarrelDCF
package import CarrelJSON
package import CarrelMP4

/// The contents of a media file, for people and programs.
package enum MediaInspection {
    /// Looks into a file. Blocks.
    ///
    /// - Parameter reader: the file.
    /// - Returns: its `kind`, and what files of that kind have.
    /// - Throws: what the reader throws; `Malformed` when it is damaged, or of no kind that Carrel knows.
    package static func describe(_ reader: any ByteReader) throws -> JSON {
        let head = try reader.readAll(0..<min(12, reader.length))
        if head.count == 12, head.rawSpan.matches("ftyp", at: 4), head.rawSpan.matches("odcf", at: 8) {
            return try DCFInspection.describe(reader)
        }
        return try MP4Inspection.describe(reader)
    }

    /// The facts as lines of text: names and values, and what belongs together further in.
    package static func text(_ facts: JSON) -> String {
        var lines: [String] = []
        write(facts, indent: "", to: &lines)
        return lines.joined(separator: "\n")
    }

    private static func write(_ value: JSON, indent: String, to lines: inout [String]) {
        guard let object = value.object else { return }
        for member in object {
            if let items = member.value.array {
                write(items, named: member.name, indent: indent, to: &lines)
            } else if member.value.object != nil {
                lines.append("\(indent)\(member.name):")
                write(member.value, indent: indent + "  ", to: &lines)
            } else {
                lines.append("\(indent)\(member.name): \(plain(member.value))")
            }
        }
    }

    private static func write(_ items: [JSON], named name: String, indent: String, to lines: inout [String]) {
        if items.contains(where: { $0.object != nil }) {
            lines.append("\(indent)\(name):")
            for item in items {
                if name == "boxes" {
                    writeBox(item, indent: indent + "  ", to: &lines)
                    continue
                }
                let first = lines.count
                write(item, indent: indent + "    ", to: &lines)
                // a dash at the first line shows where one ends and the next begins
                if first < lines.count { lines[first] = indent + "  - " + lines[first].dropFirst(indent.count + 4) }
            }
        } else {
            lines.append("\(indent)\(name): \(items.isEmpty ? "none" : items.map(plain).joined(separator: ", "))")
        }
    }

    private static func writeBox(_ box: JSON, indent: String, to lines: inout [String]) {
        lines.append(
            "\(indent)\(plain(box["type"] ?? nil)) at \(plain(box["offset"] ?? nil)), \(plain(box["size"] ?? nil)) bytes"
        )
        for child in box["boxes"]?.array ?? [] { writeBox(child, indent: indent + "  ", to: &lines) }
    }

    private static func plain(_ value: JSON) -> String {
        if let text = value.string { return text }
        if let number = value.int { return String(number) }
        if let number = value.double { return String((number * 1000).rounded() / 1000) }
        if let isTrue = value.bool { return isTrue ? "yes" : "no" }
        return "unknown"
    }
}
