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

/// Gives a synced file another name, in place of the file that has it, and makes the name durable.
///
/// - Parameters:
///   - path: the file.
///   - target: its new name.
///   - what: the message if it cannot be renamed.
/// - Throws: ``StoreError`` for the failed call.
func rename(_ path: String, to target: String, orSay what: String) throws(StoreError) {
    do throws(FileError) { try DurableFile.rename(path, to: target) } catch {
        throw StoreError(errno: error.number, error.code == .sync ? "a folder cannot be synced" : what)
    }
}
