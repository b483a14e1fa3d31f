// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Profile, tier and level of an H.265 stream (ISO/IEC 23008-2 §7.3.3), as sequence parameter sets and `hvcC` carry them.
package struct HEVCProfile: Sendable, Hashable {
    /// `general_profile_space`: 0 in every published profile.
    package let space: UInt8
    /// Whether the stream needs the high tier.
    package let isHighTier: Bool
    /// `general_profile_idc`: 1 is Main, 2 Main 10.
    package let number: UInt8
    /// `general_profile_compatibility_flag`, the first in the highest bit.
    package let compatibility: UInt32
    /// The 48 bits of constraint flags.
    package let constraints: UInt64
    /// `general_level_idc`: thirty times the level.
    package let level: UInt8

    /// Creates a value from the fields of a configuration record.
    package init(space: UInt8, isHighTier: Bool, number: UInt8, compatibility: UInt32, constraints: UInt64, level: UInt8) {
        self.space = space
        self.isHighTier = isHighTier
        self.number = number
        self.compatibility = compatibility
        self.constraints = constraints
        self.level = level
    }

    /// Reads `profile_tier_level(1, layers)`, and passes over the profiles of the lower temporal layers.
    init(_ bits: inout ParameterBits, layers: Int) throws(Malformed) {
        space = UInt8(try bits.bits(2, "profile space"))
        isHighTier = try bits.flag("tier")
        number = UInt8(try bits.bits(5, "profile"))
        compatibility = UInt32(try bits.bits(32, "profile compatibility"))
        constraints = try bits.bits(48, "constraint flags")
        level = UInt8(try bits.bits(8, "level"))
        guard layers > 0 else { return }
        var lengths: [Int] = []
        for _ in 0..<layers {
            let hasProfile = try bits.flag("layer profile flag")
            let hasLevel = try bits.flag("layer level flag")
            lengths.append((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0))
        }
        for _ in layers..<8 { _ = try bits.bits(2, "reserved bits") }
        for length in lengths {
            _ = try bits.bits(length / 2, "layer profile")
            _ = try bits.bits(length - length / 2, "layer profile")
        }
    }

    /// The part of a codec string after `hvc1.` (ISO/IEC 14496-15 annex E), such as `1.6.L93.B0`.
    package var codecSuffix: String {
        var reversed = compatibility
        reversed = reversed >> 1 & 0x5555_5555 | (reversed & 0x5555_5555) << 1
        reversed = reversed >> 2 & 0x3333_3333 | (reversed & 0x3333_3333) << 2
        reversed = reversed >> 4 & 0x0f0f_0f0f | (reversed & 0x0f0f_0f0f) << 4
        reversed = reversed.byteSwapped
        var text = ["", "A", "B", "C"][Int(space & 3)]
        text += "\(number).\(String(reversed, radix: 16, uppercase: true)).\(isHighTier ? "H" : "L")\(level)"
        var remainder = constraints << 16
        while remainder != 0 {
            text += "." + String(remainder >> 56, radix: 16, uppercase: true)
            remainder <<= 8
        }
        return text
    }
}
