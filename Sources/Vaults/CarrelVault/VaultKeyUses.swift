// SPDX-License-Identifier: Apache-2.0

/// The purposes of a key, fixed when it is made.
package struct VaultKeyUses: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Signatures: ECDSA with SHA-256.
    package static let sign = VaultKeyUses(rawValue: 1)
    /// Key agreement: ECDH.
    package static let agree = VaultKeyUses(rawValue: 2)

    /// The purposes as files have them.
    package var words: [String] { (contains(.sign) ? ["sign"] : []) + (contains(.agree) ? ["agree"] : []) }

    /// Reads the purposes of a file.
    ///
    /// - Parameter words: in the order in which ``words`` has them.
    package init?(words: [String]) {
        guard let uses = [VaultKeyUses.sign, .agree, [.sign, .agree]].first(where: { $0.words == words }) else { return nil }
        self = uses
    }
}
