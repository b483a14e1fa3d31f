// SPDX-License-Identifier: Apache-2.0

/// Units of one clock in another.
package enum Timescale {
    /// `value` times `numerator` over `denominator`, rounded to the nearest and clamped to the range.
    package static func convert(_ value: Int64, times numerator: Int, over denominator: Int) -> Int64 {
        let result = Double(value) * Double(numerator) / Double(denominator)
        if result >= 0x1p62 { return 1 << 62 }
        return result <= -0x1p62 ? -1 << 62 : Int64(result.rounded())
    }
}
