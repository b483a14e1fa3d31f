// SPDX-License-Identifier: Apache-2.0

/// The places of a request's line and header fields in libmicrohttpd's buffer.
///
/// The library (0.9.75) terminates each part with zeros in place and returns its address. In a head according to RFC 9112 §2.1,
/// one space separates method, target and version, and two bytes (CRLF) separate the lines. Other bytes that the library skips,
/// joins or cuts leave a gap: more white space in the first line, folded lines, bare line feeds, and anything after a NUL. One
/// thing leaves none: a NUL before a bare line feed, which becomes the same two zeros as CRLF.
struct HeadLayout {
    /// A part of the head: its address and its number of bytes.
    struct Part {
        let start: UInt
        let count: Int

        var end: UInt { start &+ UInt(bitPattern: count) }
    }

    /// Whether the method, the target and the version have one space between them.
    let hasPlainLine: Bool
    /// Whether each field so far began right after the previous line.
    private(set) var hasPlainFields = true
    private let start: UInt
    /// The place at which the next line has to begin.
    private var next: UInt

    init(method: Part, target: Part, version: Part) {
        start = method.start
        next = version.end &+ 2
        hasPlainLine = target.start == method.end &+ 1 && version.start == target.end &+ 1
    }

    /// Adds the next field. The library skips white space before a value.
    mutating func add(name: Part, value: Part) {
        if name.start != next || value.start <= name.end || value.start - name.end > 4096 { hasPlainFields = false }
        next = value.end &+ 2
    }

    /// Whether the fields and the empty line after them are all that the head holds.
    ///
    /// - Parameter byteCount: the head's bytes, from the method to the end of the empty line.
    /// - Returns: whether no byte of the head is hidden.
    func isWhole(byteCount: Int) -> Bool {
        hasPlainFields && next &+ 2 == start &+ UInt(bitPattern: byteCount)
    }
}
