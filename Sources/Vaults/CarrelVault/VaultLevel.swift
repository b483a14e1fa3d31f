// SPDX-License-Identifier: Apache-2.0

/// The strength of the protection against copying keys, weakest first. The raw value is the text in licenses and logs.
public enum VaultLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Nothing: for tests.
    case none
    /// A passphrase, which can be guessed offline.
    case passphrase
    /// The operating system, while the user is signed in.
    case os
    /// Hardware, which never exports a key.
    case hardware

    public static func < (left: Self, right: Self) -> Bool { left.strength < right.strength }

    private var strength: Int {
        switch self {
        case .none: 0
        case .passphrase: 1
        case .os: 2
        case .hardware: 3
        }
    }
}
