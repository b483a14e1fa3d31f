// SPDX-License-Identifier: Apache-2.0

/// Names of entries: whether they are safe to use, and how to show unsafe ones.
package enum ArchiveName {
    private static let lengthLimit = 4096

    /// The name with `/` as the separator, even if the program that wrote it used backslashes (APPNOTE §4.4.17.1).
    package static func withSlashes(_ raw: [UInt8]) -> [UInt8] {
        raw.contains(UInt8(ascii: "\\")) ? raw.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 } : raw
    }

    /// The reason why a name leads out of the destination folder; nil if it does not.
    static func escape(_ raw: [UInt8]) -> String? {
        let raw = withSlashes(raw)
        if raw.first == UInt8(ascii: "/") { return "is absolute" }
        if raw.count > 1, raw[1] == UInt8(ascii: ":") { return "names a drive" }
        return raw.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) } ? "leaves its folder" : nil
    }

    /// The reason why a name is refused; nil if it is a unique path below the destination folder.
    static func fault(_ raw: [UInt8]) -> String? {
        let raw = withSlashes(raw)
        if raw.isEmpty { return "is empty" }
        if raw.count > lengthLimit { return "is too long" }
        if raw.contains(0) { return "holds a NUL" }
        if raw.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "holds a control character" }
        if let escape = escape(raw) { return escape }
        var parts = raw.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        for part in parts {
            if part.isEmpty || part.elementsEqual(".".utf8) { return "has an empty part" }
        }
        return nil
    }

    /// The name for a message: at most 100 characters, with unprintable ones replaced.
    package static func printable(_ raw: [UInt8]) -> String {
        let text = String(decoding: raw.prefix(100), as: UTF8.self)
        var displayName = ""
        for scalar in text.unicodeScalars {
            displayName.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7f || scalar == "\"" ? "?" : scalar)
        }
        return "\"\(displayName)\""
    }
}
