// SPDX-License-Identifier: Apache-2.0

/// Numbers in playlists.
enum Decimal {
    /// A number with three decimals.
    static func thousandths(_ value: Double) -> String {
        let count = Int((value * 1000).rounded())
        return "\(count / 1000).\(String(count % 1000 + 1000).dropFirst())"
    }
}
