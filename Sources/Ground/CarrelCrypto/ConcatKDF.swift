// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// A key from a shared secret: the Concat KDF with SHA-256 (NIST SP 800-56A §5.8.1), as JWE uses it (RFC 7518 §4.6.2).
package enum ConcatKDF {
    ///
    /// - Parameters:
    ///   - secret: the shared secret of a key agreement.
    ///   - otherInfo: the purpose of the key, encoded as the protocol defines.
    ///   - count: the length of the key in bytes.
    /// - Returns: the key.
    package static func sha256(secret: Secret, otherInfo: [UInt8], count: Int) -> Secret {
        let context = unsafe OpenSSL.present(EVP_KDF_CTX_new(OpenSSL.shared.concatKDF))
        defer { unsafe EVP_KDF_CTX_free(context) }
        let derived = unsafe otherInfo.withUnsafeBytes { info in
            secret.withBytes { secret in
                unsafe secret.withUnsafeBytes { secret in
                    let parameters = unsafe [
                        copenssl_digest_sha256(), copenssl_kdf_key(secret.baseAddress, secret.count),
                        copenssl_kdf_info(info.baseAddress, info.count), OSSL_PARAM_construct_end(),
                    ]
                    return unsafe Secret(count: count) { unsafe EVP_KDF_derive(context, $0, count, parameters) == 1 }
                }
            }
        }
        guard let derived else { fatalError("OpenSSL has no SSKDF") }
        return derived
    }
}
