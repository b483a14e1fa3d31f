// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A temporary file while it is written.
package struct ScratchFile: ~Copyable {
    private let descriptor: Int32
    /// Its name in errors.
    private let name: String

    /// Creates a new file.
    ///
    /// - Parameters:
    ///   - path: its path.
    ///   - name: the name in errors, for example the archive's entry.
    /// - Throws: ``IngestError`` `full` if there is no room, `scratch` for anything else.
    package init(at path: String, name: String) throws(IngestError) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        self.name = name
        guard descriptor >= 0 else { throw IngestError(scratch: name) }
    }

    deinit {
        close(descriptor)
    }

    /// Adds bytes at the end. Waits for the disk when much is written.
    package func append(_ bytes: RawSpan) throws(IngestError) {
        let result = unsafe bytes.withUnsafeBytes { unsafe clinux_write(descriptor, $0.baseAddress, $0.count) }
        guard result == 0 else { throw IngestError(scratch: name) }
    }
}
