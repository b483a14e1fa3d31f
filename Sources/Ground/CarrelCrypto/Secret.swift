// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Bytes that do not print, do not appear in core dumps, compare in constant time, and are wiped when released.
@safe
package final class Secret: @unchecked Sendable, Equatable {  // the bytes never change after `init`
    /// Bytes.
    package let count: Int
    private let start: UnsafeMutableRawPointer

    /// Creates zeroed bytes that `fill` replaces; nil if it returns false.
    init?(count: Int, filledBy fill: (UnsafeMutablePointer<UInt8>) -> Bool) {
        precondition(count >= 0, "a secret has no negative length")
        self.count = count
        unsafe start = SecretMemory.allocate(count)
        guard unsafe fill(start.bindMemory(to: UInt8.self, capacity: count)) else { return nil }
    }

    /// Copies the bytes of `span`; wiping the original is up to its owner.
    package init(copying span: RawSpan) {
        count = span.byteCount
        unsafe start = SecretMemory.allocate(span.byteCount)
        unsafe span.withUnsafeBytes { source in
            if let base = source.baseAddress { unsafe start.copyMemory(from: base, byteCount: source.count) }
        }
    }

    /// Copies `bytes`; the array itself keeps them until its memory is reused.
    package convenience init(_ bytes: [UInt8]) {
        self.init(copying: bytes.rawSpan)
    }

    /// `count` bytes from the cryptographic generator.
    package static func random(count: Int) -> Secret {
        _ = OpenSSL.shared
        let secret = unsafe Secret(count: count) { start in unsafe RAND_priv_bytes(start, CInt(count)) == 1 }
        guard let secret else { fatalError("the system has no randomness") }
        return secret
    }

    deinit {
        unsafe OPENSSL_cleanse(start, count)
        unsafe SecretMemory.free(start, count)
    }

    /// Lends the bytes to `body`, which must not copy them anywhere lasting.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(RawSpan(_unsafeStart: start, byteCount: count))
    }

    /// Whether the bytes are equal, in a time that depends only on their length.
    package static func == (a: Secret, b: Secret) -> Bool {
        a.withBytes { a in b.withBytes { b in constantTimeEqual(a, b) } }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "Secret(\(count) bytes)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
