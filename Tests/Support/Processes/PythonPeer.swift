// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Python packages that `scripts/setup` installs from PyPI below `.build/peers`.
package enum PythonPeer {
    /// The interpreter that finds a package. Where the package is not installed the test is skipped and says so.
    ///
    /// - Parameters:
    ///   - package: the package's name.
    ///   - file: the file of the test.
    /// - Returns: the interpreter's absolute path.
    /// - Throws: what skips the test.
    package static func path(_ package: String, _ file: String = #filePath) throws -> String {
        var root = file[...]
        while let slash = root.lastIndex(of: "/") {
            root = root[..<slash]
            let path = "\(root)/.build/peers-\(package)/bin/python3"
            if unsafe access(path, X_OK) == 0 { return path }
        }
        try Test.cancel("\(package) of PyPI is not installed: nothing to test against")
    }
}
