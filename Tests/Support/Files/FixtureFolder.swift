// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files below folders of the fixtures.
package enum FixtureFolder {
    /// The names of all files with an ending, relative to the fixtures, sorted; none without fixtures.
    ///
    /// - Parameters:
    ///   - folders: their names, relative to the fixtures.
    ///   - ending: of the files' names.
    /// - Returns: the names.
    package static func files(_ folders: [String], ending: String) -> [String] {
        guard let root = Fixtures.directory else { return [] }
        return folders.flatMap { files(at: "\(root)/\($0)", $0, ending) }.sorted()
    }

    private static func files(at path: String, _ name: String, _ ending: String) -> [String] {
        guard let names = try? names(in: path) else { return name.hasSuffix(ending) ? [name] : [] }
        return names.flatMap { files(at: "\(path)/\($0)", "\(name)/\($0)", ending) }
    }

    /// The names in a folder.
    ///
    /// - Parameter path: the folder's path.
    /// - Returns: names in their order.
    /// - Throws: when there is no such folder.
    package static func names(in path: String) throws -> [String] {
        guard let folder = unsafe opendir(path) else { throw Fixtures.Missing(path: path) }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
