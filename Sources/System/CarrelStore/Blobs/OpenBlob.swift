// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import Glibc

/// A blob that is open for reading at any offset, by any number of concurrent threads.
package final class OpenBlob: Sendable {
    /// The file, for `sendfile` and the like: valid as long as this value, and not to be closed.
    package let descriptor: Int32
    /// The size in bytes.
    package let byteCount: Int64

    /// Takes ownership of `descriptor`.
    package init(adopting descriptor: Int32) throws(StoreError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let error = StoreError(errno: errno, "the blob cannot be read")
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        byteCount = Int64(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// Fills the free part of `output` with the bytes from `offset`; throws `store.damaged` if the blob ends before.
    package func read(at offset: Int64, into output: inout OutputRawSpan) throws(StoreError) {
        let isWhole = try unsafe output.fill { (buffer, filled) throws(StoreError) in
            while filled < buffer.count {
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let count = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                if count > 0 { filled += count }
                if count == 0 { return false }
                if count < 0, errno != EINTR { throw StoreError(errno: errno, "the blob cannot be read") }
            }
            return true
        }
        guard isWhole else { throw StoreError(.damaged, "the blob ends before byte \(offset + Int64(output.byteCount))") }
    }

    /// Like `read` if all these bytes are in memory; otherwise returns false immediately and leaves `output` unchanged.
    ///
    /// For threads that must not wait for a disk: on false, call `read` on another thread.
    package func readNow(at offset: Int64, into output: inout OutputRawSpan) -> Bool {
        unsafe output.fill { buffer, filled in
            guard let start = buffer.baseAddress else { return true }
            guard unsafe clinux_read_cached(descriptor, start, buffer.count, offset) == buffer.count else { return false }
            filled = buffer.count
            return true
        }
    }

    /// Reads a small part.
    package func bytes(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
        try [UInt8](rawCapacity: count) { (out) throws(StoreError) in try read(at: offset, into: &out) }
    }
}

extension OutputRawSpan {
    /// Calls `body` with the free part and its fill count; keeps the filled bytes if it returns true.
    @_lifetime(self: copy self)
    fileprivate mutating func fill<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer, inout Int) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        try unsafe withUnsafeMutableBytes { (buffer, initialized) throws(Failure) in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[initialized...])
            var filled = 0
            let isWhole = try unsafe body(free, &filled)
            if isWhole { initialized += filled }
            return isWhole
        }
    }
}
