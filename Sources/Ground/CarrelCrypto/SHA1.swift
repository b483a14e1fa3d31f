// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// The 160-bit digest of FIPS 180-4, for what others still use it for. It is broken: nothing new rests on it.
package enum SHA1 {
    /// Bytes of a digest.
    package static let byteCount = 20

    /// The digest of `bytes`.
    package static func hash(_ bytes: RawSpan) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
            let status = unsafe bytes.withUnsafeBytes {
                unsafe EVP_Digest($0.baseAddress, $0.count, buffer.baseAddress, nil, EVP_sha1(), nil)
            }
            guard status == 1 else { fatalError("OpenSSL has no SHA-1") }
            initialized = byteCount
        }
    }
}
