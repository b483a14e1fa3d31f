// SPDX-License-Identifier: Apache-2.0

/// Checks of the names of a source's files.
enum ResourceName {
    /// Names of files that folders and archives hold in addition to their content.
    static func isLitter(_ path: String) -> Bool {
        path.split(separator: "/").contains { part in
            part.hasPrefix(".") || part == "__MACOSX" || part == "Thumbs.db" || part == "desktop.ini"
        }
    }

    /// Refuses paths that are one and the same where case, or the way in which letters are composed, does not count.
    static func refuseClashes(_ paths: some Sequence<String>, in source: String) throws(IngestError) {
        var pathsByName: [String: String] = [:]
        for path in paths {
            if let other = pathsByName.updateValue(path, forKey: path.lowercased()) {
                throw IngestError(.archive, source, "holds \"\(other)\" and \"\(path)\", which are the same name on some disks")
            }
        }
    }
}
