// SPDX-License-Identifier: Apache-2.0

/// Checks the path of a resource: it has to be one place in the edition, in an address, and on any disk.
enum ResourceName {
    /// The folder of an edition's address that holds what the server makes itself.
    static let reserved = "-"

    /// Why a path is refused; nil if it is good.
    static func fault(_ path: String) -> String? {
        if path.utf8.count > 1024 { return "is too long" }
        if path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "holds a control character" }
        if path.utf8.contains(UInt8(ascii: "\\")) { return "holds a backslash" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        if parts.first.map({ $0 == reserved }) == true { return "is in the folder \"-\", which is the server's own" }
        for part in parts {
            if part.isEmpty || part == "." { return "has an empty part" }
            if part == ".." { return "leaves its folder" }
            if part.utf8.count > 255 { return "has a part that is too long" }
        }
        return nil
    }

    /// Whether a file of a folder or archive is not content, such as metadata of the system.
    static func isLitter(_ path: String) -> Bool {
        path.split(separator: "/").contains { part in
            part.hasPrefix(".") || part == "__MACOSX" || part == "Thumbs.db" || part == "desktop.ini"
        }
    }

    /// Refuses paths that are one and the same where case, or the way in which letters are composed, does not count.
    static func refuseClashes(_ paths: some Sequence<String>, in source: String) throws(IngestError) {
        var known: [String: String] = [:]
        for path in paths {
            if let other = known.updateValue(path, forKey: path.lowercased()) {
                throw IngestError(.archive, source, "holds \"\(other)\" and \"\(path)\", which are the same name on some disks")
            }
        }
    }
}
