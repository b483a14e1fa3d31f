// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The order in which people expect files: folder by folder, numbers by their value, letters of either case alike, and a name
/// before a longer one that begins with it (`ch 1` before `ch 1.5`, `Chapter 1.mp3` before `Chapter 1 - Extra.mp3`).
///
/// Each path is made into a key once; keys compare byte by byte.
package enum NaturalOrder {
    /// Number of comparisons between two cancellation checks.
    private static let patience = 4096

    /// Sorts files by their paths.
    ///
    /// - Parameters:
    ///   - elements: the files.
    ///   - path: returns the path of a file, with `/` as the separator.
    ///   - check: called regularly; throws to cancel the sorting.
    /// - Returns: the elements in order; elements with equal keys by their verbatim paths.
    /// - Throws: the errors of `check`.
    package static func sorted<Element, Failure: Error>(
        _ elements: [Element],
        by path: (Element) -> String,
        check: () throws(Failure) -> Void
    ) throws(Failure) -> [Element] {
        var keys: [(key: [UInt8], index: Int)] = []
        keys.reserveCapacity(elements.count)
        var steps = 0
        func step() throws(Failure) {
            steps += 1
            if steps.isMultiple(of: patience) { try check() }
        }
        for index in elements.indices {
            try step()
            keys.append((key(of: path(elements[index])), index))
        }
        do {
            try keys.sort { a, b in
                try step()
                let order = compare(a.key, b.key)
                return order == 0 ? path(elements[a.index]) < path(elements[b.index]) : order < 0
            }
        } catch {
            // `sort` rethrows the errors of its closure
            if let failure = error as? Failure { throw failure }
        }
        return keys.map { elements[$0.index] }
    }

    package static func sorted<Element>(_ elements: [Element], by path: (Element) -> String) -> [Element] {
        sorted(elements, by: path) {}
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        let order = unsafe a.withUnsafeBytes { a in
            unsafe b.withUnsafeBytes { b in
                let count = min(a.count, b.count)
                guard count > 0, let first = a.baseAddress, let second = b.baseAddress else { return CInt(0) }
                return unsafe memcmp(first, second, count)
            }
        }
        return order == 0 ? a.count - b.count : Int(order)
    }

    /// Ends a folder's name, or a file's before its extension: before every character.
    private static let end: UInt8 = 0
    /// Begins an extension: before every name of a folder.
    private static let dot: UInt8 = 1

    /// The folders with a terminator after each, then the name, a terminator, and the extension.
    private static func key(of path: String) -> [UInt8] {
        var text = path.lowercased()
        return text.withUTF8 { text in
            let name = unsafe text.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
            var suffix = unsafe text.lastIndex(of: UInt8(ascii: ".")) ?? text.count
            if suffix <= name { suffix = text.count }
            var key: [UInt8] = []
            key.reserveCapacity(text.count + 8)
            var at = 0
            while at < text.count {
                let byte = unsafe text[at]
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"):
                    var past = at
                    while past < text.count, unsafe 0x30...0x39 ~= text[past] { past += 1 }
                    while at < past, unsafe text[at] == 0x30 { at += 1 }
                    // the number of digits, as a digit, so that a number sorts among other characters as digits do
                    let count = past - at
                    key.append(0x30 + UInt8(min(count, 9)))
                    if count >= 9 {
                        key.append(UInt8(truncatingIfNeeded: min(count, 0xffff) >> 8))
                        key.append(UInt8(truncatingIfNeeded: min(count, 0xffff)))
                    }
                    unsafe key.append(contentsOf: text[at..<past])
                    at = past
                    continue
                case UInt8(ascii: "/"): key.append(end)
                case UInt8(ascii: ".") where at == suffix:
                    key.append(end)
                    key.append(dot)
                // characters that nothing shows
                case 0...dot: key.append(dot + 1)
                default: key.append(byte)
                }
                at += 1
            }
            if suffix == text.count { key.append(end) }
            return key
        }
    }
}
