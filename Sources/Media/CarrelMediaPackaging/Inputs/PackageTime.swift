// SPDX-License-Identifier: Apache-2.0

/// Times of a package as its documents and messages write them.
enum PackageTime {
    /// Seconds with three decimals.
    static func seconds(_ microseconds: Int64) -> String {
        let milliseconds = (microseconds + 500) / 1000
        let rest = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(milliseconds / 1000).\(rest)"
    }
}
