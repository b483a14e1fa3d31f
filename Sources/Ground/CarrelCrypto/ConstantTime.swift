// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// Whether two byte sequences are equal, in a time that depends only on their lengths.
package func constantTimeEqual(_ a: RawSpan, _ b: RawSpan) -> Bool {
    guard a.byteCount == b.byteCount else { return false }
    return unsafe a.withUnsafeBytes { a in
        unsafe b.withUnsafeBytes { b in
            guard let first = a.baseAddress, let second = b.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(first, second, a.count) == 0
        }
    }
}
