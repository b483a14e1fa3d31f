// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// The path of a program that a test talks to. When it is not installed the test is skipped and says so; `scripts/test` fails a run
/// with `CI=true` for a skip that nothing allows, so that a missing peer is noticed where every peer should be.
///
/// - Parameter name: looked up in PATH, and in /usr/sbin, where Debian keeps servers.
/// - Returns: its absolute path.
/// - Throws: what skips the test.
package func requirePeer(_ name: String) throws -> String {
    guard let path = program(name) else { try Test.cancel("\(name) is not installed: nothing to test against") }
    return path
}

func program(_ name: String) -> String? {
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
    let directories: [Substring] = path.split(separator: ":") + ["/usr/sbin"]
    return directories.lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
}
