// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelCrypto
import CarrelThreads
import Glibc

/// A folder for temporary files, for several concurrent processes. Each name begins with the name of a file that its process has
/// locked, so that the next process removes the remains of a killed one. The system releases locks, but reuses process ids.
package final class Scratch: Sendable {
    let path: String
    private let lock = Locked<ScratchLock?>(nil)

    package init(_ path: String) {
        self.path = path
    }

    /// Next to the folder, which then contains only temporary files.
    private var locks: String { "\(path).locks" }

    /// A new folder, closed to others.
    func makeFolder() throws(IngestError) -> String {
        let folder = try newName()
        guard unsafe mkdir(folder, 0o700) == 0 else { throw IngestError(scratch: folder) }
        return folder
    }

    /// The path of a file that does not exist yet.
    package func newName() throws(IngestError) -> String {
        for folder in [path, locks] {
            guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw IngestError(scratch: folder) }
        }
        let lock = try lock.withLock { (lock) throws(IngestError) in
            if let lock { return lock }
            let newLock = try ScratchLock(in: locks)
            lock = newLock
            return newLock
        }
        sweep()
        return "\(path)/\(lock.name)-\(Random.uuid())"
    }

    /// Removes a file, or a folder and all that is in it.
    package func remove(_ path: String) {
        unsafe clinux_remove_tree(path)
        unsafe unlink(path)
    }

    /// Removes what processes left that are gone.
    private func sweep() {
        // In this order: a process locks before it creates files.
        let files = Self.names(in: path)
        let lockNames = Set(Self.names(in: locks).filter { ScratchLock.isHeld("\(locks)/\($0)") })
        for name in files where !lockNames.contains(name.split(separator: "-").first.map(String.init) ?? "") {
            remove("\(path)/\(name)")
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
