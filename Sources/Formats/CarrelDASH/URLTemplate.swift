// SPDX-License-Identifier: Apache-2.0

/// A template of segments' addresses (ISO/IEC 23009-1 §5.3.9.4.4).
package struct URLTemplate: Sendable, Hashable {
    enum Part: Sendable, Hashable {
        case text(String)
        case representationID
        case number(width: Int)
        case bandwidth(width: Int)
        case time(width: Int)
        case subNumber(width: Int)
    }

    /// The template as written.
    package let text: String
    let parts: [Part]

    /// The values that stand for the identifiers.
    package struct Values {
        package var representationID: String
        package var bandwidth: UInt64
        package var number: Int64
        package var time: Int64
        /// The place in a segment sequence, from zero.
        package var subNumber: Int64

        package init(representationID: String, bandwidth: UInt64, number: Int64 = 0, time: Int64 = 0, subNumber: Int64 = 0) {
            self.representationID = representationID
            self.bandwidth = bandwidth
            self.number = number
            self.time = time
            self.subNumber = subNumber
        }
    }

    /// The fault of a template.
    package struct Fault: Error {
        let what: String
    }

    /// Reads a template.
    ///
    /// - Parameter text: as written.
    /// - Throws: for a single dollar sign, an unknown identifier, sub-numbers without numbers or times, and a width that is not `%0Nd`.
    package init(_ text: String) throws(Fault) {
        self.text = text
        var parts: [Part] = []
        var literal = ""
        var remainder = text[...]
        while let dollar = remainder.utf8.firstIndex(of: UInt8(ascii: "$")) {
            literal += remainder[..<dollar]
            remainder = remainder[remainder.index(after: dollar)...]
            guard let end = remainder.utf8.firstIndex(of: UInt8(ascii: "$")) else {
                throw Fault(what: "template has a single dollar sign")
            }
            let identifier = remainder[..<end]
            remainder = remainder[remainder.index(after: end)...]
            if identifier.isEmpty {
                literal += "$"
                continue
            }
            if !literal.isEmpty { parts.append(.text(literal)) }
            literal = ""
            parts.append(try Self.part(identifier))
        }
        literal += remainder
        if !literal.isEmpty { parts.append(.text(literal)) }
        self.parts = parts
        guard !hasSubNumbers || isOfSegments else { throw Fault(what: "template has sub-numbers without numbers or times") }
    }

    private static func part(_ identifier: Substring) throws(Fault) -> Part {
        let percent = identifier.utf8.firstIndex(of: UInt8(ascii: "%"))
        let name = percent.map { identifier[..<$0] } ?? identifier
        var width = 1
        if let percent {
            // %0Nd
            let format = identifier[percent...].dropFirst()
            guard format.first == "0", format.last == "d", let number = Int(format.dropFirst().dropLast()), 0...64 ~= number
            else {
                throw Fault(what: "template has a width that is not %0Nd")
            }
            width = max(1, number)
        }
        switch name {
        case "RepresentationID":
            guard percent == nil else { throw Fault(what: "template has a width on the representation's id") }
            return .representationID
        case "Number": return .number(width: width)
        case "Bandwidth": return .bandwidth(width: width)
        case "Time": return .time(width: width)
        case "SubNumber": return .subNumber(width: width)
        default: throw Fault(what: "template has an unknown identifier")
        }
    }

    /// Whether addresses differ by number or time.
    var isOfSegments: Bool {
        parts.contains { part in
            switch part {
            case .number, .time: true
            default: false
            }
        }
    }

    /// Whether addresses differ within a segment sequence.
    var hasSubNumbers: Bool {
        parts.contains { part in
            if case .subNumber = part { return true }
            return false
        }
    }

    /// The bytes of an address, at most.
    func mostBytes(id: String) -> Int {
        parts.reduce(0) { sum, part in
            switch part {
            case .text(let text): sum + text.utf8.count
            case .representationID: sum + id.utf8.count
            case .number(let width), .bandwidth(let width), .time(let width), .subNumber(let width): sum + max(20, width + 1)
            }
        }
    }

    /// The address.
    package func expand(_ values: Values) -> String {
        var out = ""
        for part in parts { Self.append(part, values, to: &out) }
        return out
    }

    /// Appends a part of the address to a text.
    static func append(_ part: Part, _ values: Values, to out: inout String) {
        switch part {
        case .text(let text): out += text
        case .representationID: out += values.representationID
        case .number(let width): append(values.number, width, to: &out)
        case .bandwidth(let width): append(Int64(clamping: values.bandwidth), width, to: &out)
        case .time(let width): append(values.time, width, to: &out)
        case .subNumber(let width): append(values.subNumber, width, to: &out)
        }
    }

    private static func append(_ value: Int64, _ width: Int, to out: inout String) {
        let digits = String(value.magnitude)
        if value < 0 { out += "-" }
        for _ in digits.utf8.count..<max(width, digits.utf8.count) { out += "0" }
        out += digits
    }
}
