// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelMedia
import Glibc

/// A folder next to an output for the time of the work, which is removed with all that it holds.
final class ScratchFolder: Sendable {
    let path: String
    private let unfinished: UnfinishedOutput

    /// - Parameters:
    ///   - place: the output; `-` for a folder in the temporary directory.
    ///   - unfinished: removes the folder if a signal ends the process.
    /// - Throws: `unwritable`.
    init(near place: String, _ unfinished: UnfinishedOutput) throws(MediaError) {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        if OutputFile.isStandardOutput(place) {
            let temporary = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
            path = "\(temporary)/carrel-\(number)"
        } else {
            var place = place[...]
            while place.count > 1, place.hasSuffix("/") { place.removeLast() }
            path = "\(place).carrel-\(number)"
        }
        self.unfinished = unfinished
        guard unsafe mkdir(path, 0o700) == 0 else {
            throw MediaError(.unwritable, "\(place) cannot be written: no folder can be made next to it")
        }
        unfinished.add(path)
    }

    deinit {
        unsafe clinux_remove_tree(path)
    }
}
