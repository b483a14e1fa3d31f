// SPDX-License-Identifier: Apache-2.0

/// The accepted signature algorithms.
package enum SignatureAlgorithm: Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3), under a key of 2048 to 8192 bits.
    case rs256
    /// ECDSA on P-256 with SHA-256 (RFC 7518 §3.4); a signature is 64 bytes, R and S.
    case es256
}
