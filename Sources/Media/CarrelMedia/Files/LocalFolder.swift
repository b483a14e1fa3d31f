// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A folder that confines the files a document in it may name: no symbolic link leads out of it.
package struct LocalFolder: Sendable {
    /// The place of a file that a document names.
    package enum Place: Sendable, Hashable {
        /// The real path of a file in the folder or below.
        case inside(String)
        /// The file is outside the folder.
        case outside
        /// No file has the name.
        case missing
    }

    /// The real path, with a slash at its end.
    package let path: String

    /// - Parameter path: the real path of the folder, with a slash at its end.
    package init(_ path: String) {
        self.path = path
    }

    /// The folder of a file; nil if the file does not exist.
    package init?(ofFile path: String) {
        guard let real = Self.realPath(path) else { return nil }
        self.path = Self.folder(ofFile: real)
    }

    /// The folder of a path, with a trailing slash; empty if there is none.
    package static func folder(ofFile path: String) -> String {
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(decoding: path.utf8[...end], as: UTF8.self)
    }

    /// Finds a file.
    ///
    /// - Parameter name: a path, from the folder unless it begins with a slash.
    /// - Returns: the place of the file.
    package func place(of name: String) -> Place {
        guard let real = Self.realPath(name.utf8.first == UInt8(ascii: "/") ? name : path + name) else { return .missing }
        // bytes are compared: names that look the same may be others
        return real.utf8.starts(with: path.utf8) ? .inside(real) : .outside
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
