// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

extension P256.PrivateKey {
    /// The key with its public half in PEM, as TLS libraries read it (PKCS#8, RFC 5958, around RFC 5915).
    package var pem: Secret {
        let head: [UInt8] =
            [0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13] + DER.objectIdentifier("1.2.840.10045.2.1")
            + DER.objectIdentifier("1.2.840.10045.3.1.7") + [0x04, 0x6d, 0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20]
        let tail = [0xa1, 0x44, 0x03, 0x42, 0x00, 0x04] + publicKey.coordinates
        let document = Secret.joined([Secret(head), scalar, Secret(tail)])
        let (first, last) = (Array("-----BEGIN PRIVATE KEY-----\n".utf8), Array("-----END PRIVATE KEY-----\n".utf8))
        let lineCount = (document.count + Self.lineByteCount - 1) / Self.lineByteCount
        let textCount = (document.count + 2) / 3 * 4 + lineCount
        let text = unsafe Secret(count: first.count + textCount + last.count) { start in
            unsafe start.update(from: first, count: first.count)
            var out = unsafe start + first.count
            document.withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    for offset in stride(from: 0, to: bytes.count, by: Self.lineByteCount) {
                        let line = unsafe UnsafeRawBufferPointer(
                            rebasing: bytes[offset..<min(offset + Self.lineByteCount, bytes.count)]
                        )
                        guard let from = unsafe line.bindMemory(to: UInt8.self).baseAddress else { continue }
                        // It ends with a NUL, which the line break replaces.
                        unsafe out += Int(EVP_EncodeBlock(out, from, CInt(line.count)))
                        unsafe out.pointee = UInt8(ascii: "\n")
                        unsafe out += 1
                    }
                }
            }
            unsafe out.update(from: last, count: last.count)
            return true
        }
        guard let text else { fatalError("a secret that is filled is there") }
        return text
    }

    private static var lineByteCount: Int { 48 }
}
