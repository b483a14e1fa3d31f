// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// Keys made from a password (RFC 8018 §5.2), for what others still make them with. New passwords are for ``Argon2id``.
package enum PBKDF2 {
    /// Derives a key with HMAC-SHA-1.
    ///
    /// - Parameters:
    ///   - password: the password as typed.
    ///   - salt: any length.
    ///   - iterations: at least 1.
    ///   - count: the number of bytes.
    /// - Returns: the derived bytes.
    package static func sha1(password: Secret, salt: [UInt8], iterations: Int, count: Int) -> Secret {
        let derived = password.withBytes { password in
            unsafe password.withUnsafeBytes { password in
                let start = unsafe password.baseAddress?.assumingMemoryBound(to: CChar.self)
                return unsafe Secret(count: count) { out in
                    unsafe PKCS5_PBKDF2_HMAC(
                        start,
                        CInt(password.count),
                        salt,
                        CInt(salt.count),
                        CInt(iterations),
                        EVP_sha1(),
                        CInt(count),
                        out
                    ) == 1
                }
            }
        }
        guard let derived else { fatalError("OpenSSL has no PBKDF2") }
        return derived
    }
}
