// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// Makes ids that tell requests apart, not that anyone could not guess: 13 letters and digits, so that no memory is taken.
struct RequestIDs {
    private var state: UInt64
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    init() {
        var random = SystemRandomNumberGenerator()
        state = random.next()
    }

    mutating func next() -> String {
        // SplitMix64: every state gives another value.
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        value ^= value >> 31
        return unsafe String(unsafeUninitializedCapacity: 13) { out in
            for i in 0..<13 {
                unsafe out[i] = Self.alphabet[Int(value & 31)]
                value >>= 5
            }
            return 13
        }
    }

    /// Whether a proxy's id is fit for our log and for a response.
    static func isWellFormed(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count) && Token.isValid(id)
    }
}
