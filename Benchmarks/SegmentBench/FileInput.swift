// SPDX-License-Identifier: Apache-2.0

import CarrelPackager
import Glibc

/// A title in a file that has no name any more.
final class FileInput: SegmentInput {
    private let descriptor: Int32

    init(_ bytes: [UInt8]) {
        var name = Array("/tmp/carrel-bench-XXXXXX".utf8CString)
        descriptor = unsafe mkstemp(&name)
        unsafe unlink(name)
        let written = unsafe write(descriptor, bytes, bytes.count)
        precondition(written == bytes.count, "the temporary file cannot be written")
    }

    deinit {
        close(descriptor)
    }

    func read(at offset: Int64, into out: inout OutputRawSpan) throws {
        unsafe out.withUnsafeMutableBytes { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            filled += unsafe max(0, pread(descriptor, start + filled, buffer.count - filled, Int(offset)))
        }
    }
}
