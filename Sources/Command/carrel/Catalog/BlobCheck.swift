// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelStore
import Glibc

/// Compares the blobs of a store with their digests, one after the other. Blocks.
struct BlobCheck: Sendable {
    let store: DirectoryBlobStore
    /// The folder with copies; nil if nothing is repaired.
    let source: String?

    /// A damaged or missing blob.
    struct Fault: Sendable {
        let id: BlobID
        let state: State
        let isMended: Bool

        enum State: String, Sendable {
            case damaged
            case missing
        }
    }

    /// The result of a check.
    struct Findings: Sendable {
        /// Blobs of the store, and those that are named and missing.
        var count = 0
        /// Bytes of the blobs in the store.
        var byteCount: Int64 = 0
        /// Ordered by name.
        var faults: [Fault] = []
    }

    /// Checks every blob of the store, and that all referenced blobs exist.
    ///
    /// - Parameters:
    ///   - named: the blobs that the catalog references.
    ///   - console: shows the progress on a terminal.
    /// - Returns: the faults, and the repairs made.
    /// - Throws: if the folder cannot be read, or a copy cannot be written.
    func run(_ named: Set<BlobID>, _ console: Console) throws -> Findings {
        var findings = Findings()
        var all = named
        try store.each { all.insert($0) }
        for id in all { findings.byteCount += Self.size(of: store.path(of: id)) }
        findings.count = all.count
        let bar = console.progress("checking blobs", totalBytes: findings.byteCount)
        defer { bar.finish() }
        for id in all.sorted(by: { $0.text < $1.text }) {
            guard let state = try state(of: id, isNamed: named.contains(id), bar) else { continue }
            let isMended = try source.map { try store.mend(id, from: $0) } ?? false
            findings.faults.append(Fault(id: id, state: state, isMended: isMended))
        }
        return findings
    }

    /// The fault of a blob; nil if it is intact, or a sweep has removed it.
    private func state(of id: BlobID, isNamed: Bool, _ bar: ProgressBar) throws(StoreError) -> Fault.State? {
        do throws(StoreError) {
            try store.open(id).verify(id) { bar.advance(by: $0) }
            return nil
        } catch {
            switch error.code {
            case .notFound: return isNamed ? .missing : nil
            // Unreadable bytes (EIO) are as lost as wrong ones.
            case .damaged, .unavailable: return .damaged
            default: throw error
            }
        }
    }

    private static func size(of path: String) -> Int64 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}
