// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles

/// A blob that is open for reading at any offset, by any number of concurrent threads.
package final class OpenBlob: Sendable {
    private let file: RegularFile
    /// The file, for `sendfile` and the like: valid as long as this value, and not to be closed.
    package var descriptor: Int32 { file.descriptor }
    /// How many bytes it has.
    package var byteCount: Int64 { file.size }

    /// Takes ownership of `descriptor`.
    package init(adopting descriptor: Int32) throws(StoreError) {
        do throws(FileError) { file = try RegularFile(adopting: descriptor) } catch {
            throw StoreError(errno: error.number, "the blob cannot be read")
        }
    }

    /// Fills the free part of `output` with the bytes from `offset`; throws `store.damaged` if the blob ends before.
    package func read(at offset: Int64, into output: inout OutputRawSpan) throws(StoreError) {
        let (before, room) = (output.byteCount, output.freeCapacity)
        do throws(FileError) {
            guard try file.read(at: offset, into: &output) < room else { return }
        } catch {
            throw StoreError(errno: error.number, "the blob cannot be read")
        }
        throw StoreError(.damaged, "the blob ends before byte \(offset + Int64(before))")
    }

    /// Like `read` if all these bytes are in memory; otherwise returns false immediately and leaves `output` unchanged.
    ///
    /// For threads that must not wait for a disk: on false, call `read` on another thread.
    package func readNow(at offset: Int64, into output: inout OutputRawSpan) -> Bool {
        unsafe output.withUnsafeMutableBytes { buffer, filled in
            guard let start = buffer.baseAddress else { return true }
            let count = buffer.count - filled
            guard unsafe clinux_read_cached(descriptor, start + filled, count, offset) == count else { return false }
            filled = buffer.count
            return true
        }
    }

    /// Reads a small part.
    package func bytes(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
        try [UInt8](rawCapacity: count) { (out) throws(StoreError) in try read(at: offset, into: &out) }
    }
}
