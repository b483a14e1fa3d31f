// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import Glibc

/// Writes what the system still holds of a file to the disk.
package func syncFile(_ path: String) throws(StoreError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "a file cannot be synced") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError(errno: errno, "a file cannot be synced") }
}

/// Makes the names in the folder of `path` durable.
package func syncFolder(of path: String) throws(StoreError) {
    do {
        try DurableFile.syncFolder(of: path)
    } catch {
        throw StoreError(errno: error.number, "a folder cannot be synced")
    }
}
