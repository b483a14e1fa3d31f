// SPDX-License-Identifier: Apache-2.0

/// The addresses of a template's segments, of which all but the numbers is made once.
struct SegmentAddresses: Sendable {
    private enum Value: Sendable {
        case number, time, subNumber
    }

    /// A number, the least of its digits, and the end of the text before it.
    private struct Placeholder: Sendable {
        let value: Value
        let width: Int
        let textEnd: Int
    }

    /// The text around the numbers.
    private let text: [UInt8]
    private let placeholders: [Placeholder]
    /// Bytes of an address at most.
    private let limit: Int
    /// The media time that is zero in addresses.
    private let begin: Int64

    /// - Parameters:
    ///   - template: the template.
    ///   - folder: the prefix of each address.
    ///   - values: the representation's values; the numbers are ignored.
    ///   - begin: the media time that corresponds to zero in addresses.
    init(_ template: URLTemplate, after folder: String, _ values: URLTemplate.Values, begin: Int64) {
        var text = Array(folder.utf8)
        var placeholders: [Placeholder] = []
        var limit = 0
        func addPlaceholder(_ value: Value, _ width: Int) {
            placeholders.append(Placeholder(value: value, width: width, textEnd: text.count))
            limit += max(width, Self.mostDigits) + 1
        }
        for part in template.parts {
            switch part {
            case .number(let width): addPlaceholder(.number, width)
            case .time(let width): addPlaceholder(.time, width)
            case .subNumber(let width): addPlaceholder(.subNumber, width)
            case .text, .representationID, .bandwidth:
                var more = ""
                URLTemplate.append(part, values, to: &more)
                text += more.utf8
            }
        }
        self.text = text
        self.placeholders = placeholders
        self.limit = limit + text.count
        self.begin = begin
    }

    /// The digits of a number of 64 bits.
    private static let mostDigits = 20

    /// The address of a segment.
    func address(_ number: Int64, _ time: Int64, _ subNumber: Int64) -> String {
        unsafe String(unsafeUninitializedCapacity: limit) { buffer in
            var (count, start) = (0, 0)
            for placeholder in placeholders {
                unsafe append(start..<placeholder.textEnd, to: buffer, &count)
                start = placeholder.textEnd
                let value =
                    switch placeholder.value {
                    case .number: number
                    case .time: time - begin
                    case .subNumber: subNumber
                    }
                unsafe Self.append(value, placeholder.width, to: buffer, &count)
            }
            unsafe append(start..<text.count, to: buffer, &count)
            return count
        }
    }

    private func append(_ range: Range<Int>, to buffer: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        let end = unsafe buffer[count...].update(fromContentsOf: text[range])
        count = end
    }

    private static func append(_ value: Int64, _ width: Int, to buffer: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        if value < 0 {
            unsafe buffer[count] = UInt8(ascii: "-")
            count += 1
        }
        var remainder = value.magnitude
        var digits = 1
        while remainder >= 10 {
            remainder /= 10
            digits += 1
        }
        let end = count + max(width, digits)
        remainder = value.magnitude
        for index in (count..<end).reversed() {
            let (tens, digit) = remainder.quotientAndRemainder(dividingBy: 10)
            unsafe buffer[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
            remainder = tens
        }
        count = end
    }
}
