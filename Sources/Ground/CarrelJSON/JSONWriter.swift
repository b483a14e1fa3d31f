// SPDX-License-Identifier: Apache-2.0

/// Writes JSON text.
struct JSONWriter {
    enum Layout {
        case compact, pretty, canonical
    }

    private(set) var out: [UInt8]
    private let layout: Layout
    private var indentation = 0

    init(_ layout: Layout, appendingTo out: consuming [UInt8] = []) {
        self.layout = layout
        self.out = out
    }

    mutating func write(_ value: JSON) {
        switch value {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .number(let number): out += (layout == .canonical ? number.canonicalText : number.text).utf8
        case .string(let text): write(text)
        case .array(let elements): write(elements)
        case .object(let object): write(object)
        }
    }

    private mutating func write(_ elements: [JSON]) {
        out.append(UInt8(ascii: "["))
        indentation += 1
        for (index, element) in elements.enumerated() {
            separate(index)
            write(element)
        }
        indentation -= 1
        if !elements.isEmpty { newLine() }
        out.append(UInt8(ascii: "]"))
    }

    private mutating func write(_ object: JSONObject) {
        out.append(UInt8(ascii: "{"))
        indentation += 1
        // RFC 8785 §3.2.3: by UTF-16 code units, which differs from the order of scalars
        let members =
            layout == .canonical
            ? object.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) } : object.members
        for (index, member) in members.enumerated() {
            separate(index)
            write(member.name)
            out.append(UInt8(ascii: ":"))
            if layout == .pretty { out.append(UInt8(ascii: " ")) }
            write(member.value)
        }
        indentation -= 1
        if !members.isEmpty { newLine() }
        out.append(UInt8(ascii: "}"))
    }

    private mutating func separate(_ index: Int) {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        newLine()
    }

    private mutating func newLine() {
        guard layout == .pretty else { return }
        out.append(UInt8(ascii: "\n"))
        out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indentation * 2))
    }

    /// A string with no more escapes than RFC 8785 §3.2.2.2 has.
    private mutating func write(_ text: String) {
        out.append(UInt8(ascii: "\""))
        let isWritten: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe escape($0) }
        if isWritten == nil { unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe escape($0) } }
        out.append(UInt8(ascii: "\""))
    }

    /// Appends the bytes of a string, in runs between those that need an escape.
    private mutating func escape(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        for unsafe(index, byte) in unsafe text.enumerated()
        where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            unsafe out.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
            start = index + 1
            out.append(UInt8(ascii: "\\"))
            switch byte {
            case 0x08: out.append(UInt8(ascii: "b"))
            case 0x09: out.append(UInt8(ascii: "t"))
            case 0x0a: out.append(UInt8(ascii: "n"))
            case 0x0c: out.append(UInt8(ascii: "f"))
            case 0x0d: out.append(UInt8(ascii: "r"))
            case 0..<0x20:
                out += "u00".utf8
                out.append(UInt8(ascii: "0") + byte >> 4)
                out.append(byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + byte & 15 - 10)
            default: out.append(byte)
            }
        }
        unsafe out.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
    }
}

extension JSON {
    /// The text without space, members in their order.
    public func write() -> [UInt8] { written(.compact) }

    /// The text over several lines for people, members in their order, without a line end after it.
    public func writePretty() -> [UInt8] { written(.pretty) }

    /// The canonical text of RFC 8785, the same for every writer, for signing or comparison.
    ///
    /// Whole numbers beyond ±2^53 become the nearest double, as RFC 8785 has no others.
    public func writeCanonical() -> [UInt8] { written(.canonical) }

    /// Appends the text without space, members in their order.
    ///
    /// - Parameter out: the array to append to.
    public func write(into out: inout [UInt8]) {
        var writer = JSONWriter(.compact, appendingTo: out)
        out = []
        writer.write(self)
        out = writer.out
    }

    private func written(_ layout: JSONWriter.Layout) -> [UInt8] {
        var writer = JSONWriter(layout)
        writer.write(self)
        return writer.out
    }
}

extension JSON: CustomStringConvertible {
    /// The text without space.
    public var description: String { String(decoding: write(), as: UTF8.self) }
}
