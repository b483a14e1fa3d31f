// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelReceipts

/// An app's receipt and what it is wrapped in: whatever is read, nothing is said by a signed message but what was signed.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let receipt = try? AppReceipt(bytes) {
        for said in receipt.transactions where said.bundleID != receipt.bundleID || said.signedAt != receipt.createdAt {
            fatalError("a purchase is of another receipt")
        }
    }
    // The fuzzer has no key: every message that verifies was signed when the corpus was made.
    if let message = try? SignedMessage(der: bytes), SHA256.hash(message.content.rawSpan) != signed {
        fatalError("something was believed that nobody signed")
    }
    _ = try? verifier?.receipt(bytes, at: now)
    return 0
}

private let now = Instant(milliseconds: 1_800_000_000_000)

/// The SHA-256 of `corpus/payload`, which is what `corpus/receipt` holds.
private let signed = Hex.decode("d481a7c9ed56f68a2ed556c94240597f4271b60731c2ac91a1b4d03685599be4") ?? []

private let verifier = (try? Certificate.all(in: Array(root.utf8))).flatMap { try? CertificateRoots($0) }.map {
    TransactionVerifier(roots: $0, bundleIDs: ["com.example.reader"])
}

/// Made for this target, with a key that was discarded.
private let root = """
    -----BEGIN CERTIFICATE-----
    MIIBYzCCAQigAwIBAgIUIUWj41+2G9ua47yqU01bBQyTLZMwCgYIKoZIzj0EAwIw
    DzENMAsGA1UEAwwEcm9vdDAeFw0yNjExMjExMjQ1NThaFw0zNjExMTgxMjQ1NTha
    MA8xDTALBgNVBAMMBHJvb3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATCBvYy
    lsWkUQKnUm0tU6aSm0KX3/aXaGF1hHkjxO5lxcynfBQRiHOAh4yAXnFg1cNG1OZ7
    DmbeAb7bFE2L09x0o0IwQDAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIB
    BjAdBgNVHQ4EFgQUz7W2ZTKMFwwHEiZbxocCdp+25fswCgYIKoZIzj0EAwIDSQAw
    RgIhALTlPU9kpN8Ikt+s5voSaZfQJgq//XnHk2yJxRIDCl97AiEAh1d/0tVi+phE
    JB7Dsua5sSHK/Ow6YiJdx35WNU7olKg=
    -----END CERTIFICATE-----
    """
