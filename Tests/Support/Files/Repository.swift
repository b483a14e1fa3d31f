// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The tree that the tests were built from.
package enum Repository {
    /// Its folder.
    package static let path = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")

    /// The folder of a target, which lies in one of the folders of `Sources` or `Tests`.
    package static func folder(of target: String) -> String {
        for place in ["Sources", "Tests"] {
            for folder in (try? FixtureFolder.names(in: "\(path)/\(place)")) ?? [] {
                let found = "\(path)/\(place)/\(folder)/\(target)"
                if unsafe access(found, F_OK) == 0 { return found }
            }
        }
        return "\(path)/Tests/\(target)"
    }
}
