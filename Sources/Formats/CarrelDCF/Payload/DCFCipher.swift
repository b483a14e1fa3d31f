// SPDX-License-Identifier: Apache-2.0

/// How the content of an object is encrypted (OMA DRM Content Format 2.0).
package enum DCFCipher: UInt8, Sendable, Hashable {
    /// Not.
    case none = 0
    /// AES-128 in CBC mode.
    case cbc = 1
    /// AES-128 in CTR mode.
    case counter = 2
}
