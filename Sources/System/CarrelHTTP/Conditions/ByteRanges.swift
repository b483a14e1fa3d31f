// SPDX-License-Identifier: Apache-2.0

/// A `Range` field in bytes (RFC 9110 §14.1.2, §14.2).
public struct ByteRanges: Sendable, Hashable {
    /// A requested range; numbers too large for 63 bits are clamped.
    public enum Spec: Sendable, Hashable {
        /// `first-last`, both included.
        case closed(first: Int64, last: Int64)
        /// `first-`
        case from(Int64)
        /// `-count`: the last bytes.
        case last(Int64)
    }

    /// The ranges in the requested order; at least one.
    public let specs: [Spec]

    /// Parses a `Range` field.
    ///
    /// Nil if the unit is not `bytes` or the syntax is wrong: such a field counts as absent.
    ///
    /// - Parameter field: the field's value.
    public init?(parsing field: String) {
        guard let equals = field.utf8.firstIndex(of: UInt8(ascii: "=")),
            field[..<equals].lowercased() == "bytes"
        else { return nil }
        var specs: [Spec] = []
        for part in field.utf8[field.utf8.index(after: equals)...].split(separator: UInt8(ascii: ",")) {
            let text = String(Substring(part)).trimmingASCIISpace()
            if text.isEmpty { continue }
            guard let dash = text.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
            let first = text.utf8[..<dash]
            let last = text.utf8[text.utf8.index(after: dash)...]
            switch (Self.number(first), Self.number(last)) {
            case (let first?, let last?) where first <= last: specs.append(.closed(first: first, last: last))
            case (let first?, nil) where last.isEmpty: specs.append(.from(first))
            case (nil, let count?) where first.isEmpty: specs.append(.last(count))
            default: return nil
            }
        }
        guard !specs.isEmpty else { return nil }
        self.specs = specs
    }

    /// The parts of a representation of `length` bytes that were asked for, in that order; those outside it are left out, and
    /// those that touch or overlap are one, so that no byte is sent twice (RFC 9110 §15.3.7.2). Empty when nothing is left.
    ///
    /// - Parameter length: the length of the representation in bytes.
    /// - Returns: the ranges.
    public func resolve(length: Int64) -> [Range<Int64>] {
        var out: [Range<Int64>] = []
        for spec in specs {
            var range: Range<Int64>
            switch spec {
            case .closed(let first, _) where first >= length: continue
            case .from(let first) where first >= length: continue
            case .closed(let first, let last): range = first..<(min(last, length - 1) + 1)
            case .from(let first): range = first..<length
            case .last(let count): range = max(0, length - count)..<length
            }
            if range.isEmpty { continue }
            var index: Int?
            while let i = out.firstIndex(where: { $0.lowerBound <= range.upperBound && range.lowerBound <= $0.upperBound }) {
                range = min(range.lowerBound, out[i].lowerBound)..<max(range.upperBound, out[i].upperBound)
                out.remove(at: i)
                index = min(index ?? i, i)
            }
            out.insert(range, at: index ?? out.count)
        }
        return out
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for c in digits {
            guard c >= UInt8(ascii: "0"), c <= UInt8(ascii: "9") else { return nil }
            let (tens, over) = value.multipliedReportingOverflow(by: 10)
            let (sum, above) = tens.addingReportingOverflow(Int64(c - UInt8(ascii: "0")))
            value = over || above ? .max : sum
        }
        return value
    }
}
