// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Bytes of a package, file by file. One caller at a time; calls block on the disk.
package final class SavedBytes: Sendable {
    private struct State {
        var parts: ArraySlice<ResourceIndex.Part>
        var file: StoredFile?
        /// The rest of the current part.
        var range: Range<Int64> = 0..<0
    }

    private let package: SavedPackage
    private let state: Locked<State>
    /// Bytes in all.
    package let length: Int64

    /// - Throws: `saved.missing`, `saved.damaged`, `saved.disk` for the first file.
    init(_ package: SavedPackage, _ parts: [ResourceIndex.Part]) throws(SavedMediaError) {
        self.package = package
        var state = State(parts: parts[...])
        try Self.advance(&state, package)
        var length = Int64(state.range.count)
        for part in parts.dropFirst() {
            if let range = part.range { length += Int64(range.count) } else { length += try package.open(part).length }
        }
        self.length = length
        self.state = Locked(state)
    }

    /// Opens the next part.
    private static func advance(_ state: inout State, _ package: SavedPackage) throws(SavedMediaError) {
        guard let part = state.parts.popFirst() else {
            state.file = nil
            return
        }
        let file = try package.open(part)
        let range = part.range ?? 0..<file.length
        guard range.upperBound <= file.length else {
            throw SavedMediaError(.missing, "the source names more bytes than the resource has")
        }
        state.file = file
        state.range = range
    }

    /// The next bytes, at most 256 KiB; nil at the end.
    ///
    /// - Throws: `saved.missing`, `saved.damaged`, `saved.disk`.
    package func next() throws(SavedMediaError) -> [UInt8]? {
        try state.withLock { state throws(SavedMediaError) in
            while let file = state.file, state.range.isEmpty {
                _ = file
                try Self.advance(&state, package)
            }
            guard let file = state.file else { return nil }
            let bytes = try file.read(state.range)
            state.range = state.range.lowerBound + Int64(bytes.count)..<state.range.upperBound
            return bytes
        }
    }
}
