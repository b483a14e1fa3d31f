// SPDX-License-Identifier: Apache-2.0

/// A start tag of which the end has not come: counts its attributes.
struct XMLOpenTag {
    /// Values that have begun.
    private(set) var attributes = 0
    /// Whether the end has come.
    private(set) var isOver = false
    /// The quotation mark that ends the current value.
    private var quote: UInt8?

    /// Takes the next bytes; the very first belong to the tag itself.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        guard !isOver else { return }
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            if let end = quote {
                if byte == end { quote = nil }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                quote = byte
                attributes += 1
            case UInt8(ascii: ">"):
                isOver = true
                return
            default: continue
            }
        }
    }
}
