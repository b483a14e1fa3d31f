// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The names in a folder.
enum FolderList {
    struct Failure: Error {}

    static func names(_ path: String) throws -> [String] {
        guard let folder = unsafe opendir(path) else { throw Failure() }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
