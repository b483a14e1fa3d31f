// SPDX-License-Identifier: Apache-2.0

/// The encryption of a PDF document, and the permissions that its author grants to readers (ISO 32000-2 §7.6).
package struct PDFEncryption: Sendable, Hashable {
    /// Revision of the security handler: 2 to 6.
    package let revision: Int
    /// Version of the algorithm: 1, 2, 4 or 5.
    package let version: Int
    /// The permission flags (table 22): bits of a signed number of 32 bits.
    package let permissions: Int32
    /// Whether the password is only the owner's, which permits everything. A password that is also the user's counts as the
    /// user's.
    package let isOwner: Bool

    /// Bit 5: copying text and graphics.
    package var mayCopy: Bool { isOwner || permissions & 1 << 4 != 0 }
    /// Bit 3: printing, in whatever quality.
    package var mayPrint: Bool { isOwner || permissions & 1 << 2 != 0 }
}
