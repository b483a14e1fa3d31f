// SPDX-License-Identifier: Apache-2.0

/// The encrypted blocks of a protected range: `crypt` blocks, then `skip` clear ones, repeated (ISO/IEC 23001-7 §9.6).
///
/// The bytes after the last whole block stay clear. If a range ends within a run of encrypted blocks, the existing blocks are
/// encrypted.
package struct BlockPattern: Sendable, Hashable {
    /// Encrypted blocks of a turn.
    package var crypt: Int
    /// Clear blocks of a turn.
    package var skip: Int

    /// - Parameters:
    ///   - crypt: encrypted blocks of a turn, 0...15.
    ///   - skip: clear blocks of a turn, 0...15; 0 encrypts every block, whatever `crypt` says.
    package init(crypt: Int, skip: Int) {
        self.crypt = crypt
        self.skip = skip
    }

    /// Every block.
    package static let whole = BlockPattern(crypt: 0, skip: 0)

    /// Whether every block is encrypted.
    package var isWhole: Bool { skip == 0 || crypt == 0 }
}
