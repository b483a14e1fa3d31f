// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelCrypto
import Glibc

/// A blob on its way into a folder. It holds a lock on its partial file, which goes when the process does.
final class DirectoryBlobWriter: BlobWriter {
    /// Gives the finished partial file its name.
    private let keep: (_ partial: String, _ id: BlobID) throws(StoreError) -> Void
    private let path: String
    private var descriptor: Int32
    private var digest: SHA256.Stream? = SHA256.Stream()
    private var buffer: [UInt8] = []
    private(set) var byteCount: Int64 = 0
    private let bufferSize = 256 << 10

    /// - Parameters:
    ///   - folder: the folder of partial files.
    ///   - keep: gives the finished partial file its name, for good.
    /// - Throws: `store.full` or `store.unavailable` when no file can be created.
    init(in folder: String, keep: @escaping (_ partial: String, _ id: BlobID) throws(StoreError) -> Void) throws(StoreError) {
        self.keep = keep
        while true {
            let path = "\(folder)/\(getpid())-\(UInt64.random(in: .min ... .max))"
            let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw StoreError(errno: errno, "a blob cannot be begun") }
            // Between these two calls a sweep may have removed the file as a dead process's.
            var status = stat()
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0, status.st_nlink == 1 {
                self.path = path
                self.descriptor = descriptor
                buffer.reserveCapacity(bufferSize)
                return
            }
            close(descriptor)
        }
    }

    deinit {
        discard()
    }

    func append(_ bytes: RawSpan) throws(StoreError) {
        guard descriptor >= 0 else { throw StoreError(.closed, "the blob is finished or was given up") }
        byteCount += Int64(bytes.byteCount)
        if buffer.count + bytes.byteCount <= bufferSize { return buffer.append(copying: bytes) }
        try flush()
        if bytes.byteCount < bufferSize { buffer.append(copying: bytes) } else { try write(bytes) }
    }

    func finish() throws(StoreError) -> BlobID {
        guard descriptor >= 0 else { throw StoreError(.closed, "the blob is finished or was given up") }
        try flush()
        guard fsync(descriptor) == 0, let digest = digest.take() else {
            throw giveUp(StoreError(errno: errno, "the blob cannot be synced"))
        }
        let id = BlobID(digest: digest.finish())
        do throws(StoreError) {
            try keep(path, id)
        } catch {
            throw giveUp(error)
        }
        close(descriptor)
        descriptor = -1
        return id
    }

    private func flush() throws(StoreError) {
        guard !buffer.isEmpty else { return }
        var full: [UInt8] = []
        swap(&full, &buffer)
        try write(full.rawSpan)
        full.removeAll(keepingCapacity: true)
        swap(&full, &buffer)
    }

    private func write(_ bytes: RawSpan) throws(StoreError) {
        digest?.update(bytes)
        let result = unsafe bytes.withUnsafeBytes { unsafe clinux_write(descriptor, $0.baseAddress, $0.count) }
        if result != 0 { throw giveUp(StoreError(errno: errno, "the blob cannot be written")) }
    }

    private func giveUp(_ error: StoreError) -> StoreError {
        discard()
        return error
    }

    private func discard() {
        guard descriptor >= 0 else { return }
        _ = unsafe unlink(path)
        close(descriptor)
        descriptor = -1
        buffer = []
    }
}
