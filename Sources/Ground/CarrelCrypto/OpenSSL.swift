// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// The algorithms of the library, each looked up once; a look-up by name costs more than most messages.
@safe
struct OpenSSL: @unchecked Sendable {  // the objects are immutable and live as long as the process
    static let shared = OpenSSL()

    let aes128CBC, aes256CBC, aes128Counter, aes256Counter, aes128Wrap, aes256Wrap: OpaquePointer
    let aes128GCM, aes256GCM: OpaquePointer
    let sha256, hmac, hkdf, concatKDF: OpaquePointer
    /// Any key on the curve P-256: others take its parameters.
    let p256: OpaquePointer

    private init() {
        // Without this the library frees its globals in exit(), under the feet of threads that still use them.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        unsafe aes128CBC = Self.present(EVP_CIPHER_fetch(nil, "AES-128-CBC", nil))
        unsafe aes256CBC = Self.present(EVP_CIPHER_fetch(nil, "AES-256-CBC", nil))
        unsafe aes128Counter = Self.present(EVP_CIPHER_fetch(nil, "AES-128-CTR", nil))
        unsafe aes256Counter = Self.present(EVP_CIPHER_fetch(nil, "AES-256-CTR", nil))
        unsafe aes128Wrap = Self.present(EVP_CIPHER_fetch(nil, "AES-128-WRAP", nil))
        unsafe aes256Wrap = Self.present(EVP_CIPHER_fetch(nil, "AES-256-WRAP", nil))
        unsafe aes128GCM = Self.present(EVP_CIPHER_fetch(nil, "AES-128-GCM", nil))
        unsafe aes256GCM = Self.present(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
        unsafe sha256 = Self.present(EVP_MD_fetch(nil, "SHA256", nil))
        unsafe hmac = Self.present(EVP_MAC_fetch(nil, "HMAC", nil))
        unsafe hkdf = Self.present(EVP_KDF_fetch(nil, "HKDF", nil))
        unsafe concatKDF = Self.present(EVP_KDF_fetch(nil, "SSKDF", nil))
        unsafe p256 = Self.present(copenssl_p256_generate())
    }

    /// The handle, or a stop: without memory or its default provider the library can do nothing for us.
    static func present(_ handle: OpaquePointer?) -> OpaquePointer {
        guard let handle = unsafe handle else { fatalError("OpenSSL has no memory or no default provider") }
        return unsafe handle
    }
}
