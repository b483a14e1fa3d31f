// SPDX-License-Identifier: Apache-2.0

/// A movie's defaults for one track's samples in its fragments (`trex`, ISO/IEC 14496-12 §8.8.3).
struct FragmentDefaults {
    var duration: Int64 = 0
    var size = 0
    var flags: UInt32 = 0
    /// The description of its samples, from 0.
    var entry = 0
}
