// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import Glibc

/// A certificate chain and its key as PEM text, wiped when let go of.
@safe
final class TLSCertificate {
    /// TLS 1.2 and 1.3 only; the rest is GnuTLS's choice of what is safe today.
    private static let priorities = "SECURE128:%SERVER_PRECEDENCE:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    private let key: UnsafeMutableBufferPointer<CChar>
    private let chain: UnsafeMutableBufferPointer<CChar>

    init(_ files: ServerConfiguration.TLSFiles) throws(HTTPServerError) {
        let chain = unsafe try Self.read(files.certificate)
        do {
            unsafe key = try Self.read(files.key)
        } catch {
            unsafe chain.deallocate()
            throw error
        }
        unsafe self.chain = chain
    }

    /// The texts of an identity that is in memory.
    init(_ identity: TLSIdentity) {
        unsafe chain = Self.copy(Array(identity.certificate.utf8).rawSpan)
        unsafe key = identity.key.withBytes { unsafe Self.copy($0) }
    }

    deinit {
        if let start = unsafe key.baseAddress { unsafe explicit_bzero(start, key.count) }
        unsafe key.deallocate()
        unsafe chain.deallocate()
    }

    /// Lends key, chain and priorities for the call.
    func withCStrings<Result>(
        _ body: (UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Result
    ) -> Result {
        unsafe Self.priorities.withCString { unsafe body(key.baseAddress, chain.baseAddress, $0) }
    }

    /// The text with a NUL at its end.
    private static func copy(_ text: RawSpan) -> UnsafeMutableBufferPointer<CChar> {
        let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: text.byteCount + 1)
        unsafe buffer.initialize(repeating: 0)
        unsafe text.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
        return unsafe buffer
    }

    /// The file's text with a NUL at its end.
    private static func read(_ path: String) throws(HTTPServerError) -> UnsafeMutableBufferPointer<CChar> {
        let limit = 1 << 20
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HTTPServerError(.tls, "\(path) cannot be read: \(systemReason())")
        }
        defer { close(descriptor) }
        let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: limit + 1)
        unsafe buffer.initialize(repeating: 0)
        var count = 0
        while count < limit {
            let readCount = unsafe Glibc.read(descriptor, buffer.baseAddress.map { unsafe $0 + count }, limit - count)
            if readCount < 0, errno == EINTR { continue }
            guard readCount > 0 else { break }
            count += readCount
        }
        guard count > 0, count < limit else {
            unsafe buffer.deallocate()
            throw HTTPServerError(.tls, "\(path) is empty, too large or not a file")
        }
        return unsafe buffer
    }
}
