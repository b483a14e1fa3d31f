// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// Derivation of keys from a secret, one for each purpose (RFC 5869).
package enum HKDF {
    /// - Parameters:
    ///   - secret: input keying material; not a password.
    ///   - salt: may be empty.
    ///   - info: the purpose of the key; different texts give independent keys.
    ///   - count: the length of the key in bytes, 1...8160.
    /// - Returns: the derived key.
    package static func sha256(secret: Secret, salt: [UInt8], info: String, count: Int) -> Secret {
        sha256(secret: secret, salt: salt, info: Array(info.utf8), count: count)
    }

    /// - Parameters:
    ///   - secret: input keying material; not a password.
    ///   - salt: may be empty.
    ///   - info: the purpose of the key; different bytes give independent keys.
    ///   - count: the length of the key in bytes, 1...8160.
    /// - Returns: the derived key.
    package static func sha256(secret: Secret, salt: [UInt8], info: [UInt8], count: Int) -> Secret {
        precondition(1...(255 * 32) ~= count, "HKDF gives 1 to 8160 bytes")
        let context = unsafe OpenSSL.present(EVP_KDF_CTX_new(OpenSSL.shared.hkdf))
        defer { unsafe EVP_KDF_CTX_free(context) }
        let derived = unsafe salt.withUnsafeBytes { salt in
            unsafe info.withUnsafeBytes { info in
                secret.withBytes { secret in
                    unsafe secret.withUnsafeBytes { secret in
                        var parameters = unsafe [
                            copenssl_digest_sha256(), copenssl_kdf_key(secret.baseAddress, secret.count),
                        ]
                        // left out, they mean empty
                        if salt.count > 0 { unsafe parameters.append(copenssl_kdf_salt(salt.baseAddress, salt.count)) }
                        if info.count > 0 { unsafe parameters.append(copenssl_kdf_info(info.baseAddress, info.count)) }
                        unsafe parameters.append(OSSL_PARAM_construct_end())
                        return unsafe Secret(count: count) { start in
                            unsafe EVP_KDF_derive(context, start, count, parameters) == 1
                        }
                    }
                }
            }
        }
        guard let derived else { fatalError("OpenSSL has no HKDF") }
        return derived
    }
}
