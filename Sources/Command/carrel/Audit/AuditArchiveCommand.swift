// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCommandLine
import CarrelFiles
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelThreads
import Glibc

struct AuditArchiveCommand: HomeCommand {
    var options = HomeOptions()
    var path = ""

    static let name = "archive"
    static let abstract = "Archive the audit log to a file, so that old entries can be pruned."
    static let discussion = """
        The file contains every entry of the log with its seals; 'carrel audit verify --archive FILE' verifies it. If audit.retention is \
        set, the server deletes older entries that are in such a file: keep the files.
        """
    static let examples = [Example("carrel audit archive /mnt/archive/audit-2026.jsonl", "Writes one file.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.path, "file", help: "The file to write; it must not exist.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        guard unsafe access(path, F_OK) != 0 else { throw ServerError(.conflict, "\(path) exists already") }
        let partial = "\(path).partial"
        do {
            let file = try ArchiveOutput(partial)
            try await client.copy("/admin/v1/audit/archive", to: file.write)
            try file.finish()
            let found = try await AuditArchiveFile(partial).verify(client)
            guard unsafe rename(partial, path) == 0 else {
                throw ServerError(.home, "\(path) cannot be written: \(systemReason())")
            }
            try syncFolder(of: path)
            guard let end = found.end else { throw ServerError(.conflict, "the audit log has no entry to archive") }
            _ = try await client.call(.post, "/admin/v1/audit/archived", end.json)
            if options.json {
                let answer: JSON = [
                    "archive": .string(path), "entries": .integer(found.entries), "end": end.json,
                ]
                return console.print(answer)
            }
            console.print("\(found.entries) entries in \(path)")
        } catch {
            unsafe unlink(partial)
            throw error
        }
    }
}

/// The file that an archive is written to, for this user alone.
private final class ArchiveOutput: Sendable {
    private let path: String
    private let descriptor: Int32
    private let failure = Locked<Int32>(0)

    init(_ path: String) throws {
        self.path = path
        descriptor = unsafe open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ServerError(.home, "\(path) cannot be written: \(systemReason())") }
    }

    deinit { close(descriptor) }

    /// Writes a piece; ``finish()`` reports errors.
    func write(_ bytes: [UInt8]) {
        guard failure.withLock({ $0 }) == 0 else { return }
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return failure.withLock { $0 = errno } }
            done += count
        }
    }

    /// Writes the buffered data to the disk.
    func finish() throws {
        if failure.withLock({ $0 }) == 0, fsync(descriptor) != 0 { failure.withLock { $0 = errno } }
        let error = failure.withLock { $0 }
        guard error == 0 else { throw ServerError(.home, "\(path) cannot be written: \(systemReason(error))") }
    }
}

extension ServiceProblem {
    /// The problem of a seal or position in a log or archive that was changed.
    static func unsealed(_ detail: String) -> Self { Self(status: 409, problem: ["detail": .string(detail)]) }
}

/// A file that `carrel audit archive` wrote, read line by line.
struct AuditArchiveFile {
    /// The result of verifying a whole file.
    struct Verified {
        /// The row before its first; nil if its first row is the first of the log.
        var start: AuditHead.Mark?
        /// Its last row; nil if it is empty.
        var end: AuditHead.Mark?
        var entries = 0
        /// Whether the log continues after its end.
        var joins = false
    }

    /// Number of bytes verified together, unless one line has more.
    private static let batch = 1 << 20

    let path: String

    init(_ path: String) { self.path = path }

    /// Verifies the file, and that it continues another.
    ///
    /// - Parameters:
    ///   - client: the home with the log.
    ///   - last: the last row of the previous archive, which is a row of this one or the row before its first.
    /// - Returns: its first and last position, and whether the log continues after it.
    /// - Throws: ``ServiceProblem`` if something differs from what was sealed, ``ServerError`` `invalid` for another file.
    func verify(_ client: HomeClient, after last: AuditHead.Mark? = nil) async throws -> Verified {
        var lines = try LineReader(path)
        guard let head = try lines.next(), let header = try? JSON.parse(head.rawSpan),
            header["format"]?.string == AuditArchive.format
        else { throw ServerError(.invalid, "\(path) is not an archive of an audit log") }
        var found = Verified()
        found.start = AuditHead.Mark(header["after"])
        found.end = found.start
        var meetsLast = last == nil || found.start == last
        var (batch, isComplete): ([UInt8], Bool) = ([], false)
        while let line = try lines.next() {
            if isComplete { throw ServerError(.invalid, "\(path) has data after its last line") }
            let limits = JSONLimits(byteCount: AuditArchive.lineLimit)
            guard let row = try? JSON.parse(line.rawSpan, limits: limits) else {
                throw ServerError(.invalid, "\(path) has a line that is not JSON")
            }
            if row["end"] == nil {
                if let last, row["number"]?.int == Int(last.number) {
                    guard AuditHead.Mark(row) == last else { throw broken(last.number) }
                    meetsLast = true
                }
                if batch.count + line.count > Self.batch { try await verify(&batch, &found, client) }
                batch += line
                batch.append(UInt8(ascii: "\n"))
            } else {
                try await verify(&batch, &found, client)
                guard AuditHead.Mark(row["end"]) == found.end else {
                    throw ServiceProblem.unsealed("\(path) does not match its last line")
                }
                isComplete = true
            }
        }
        guard isComplete else { throw ServerError(.invalid, "\(path) is truncated: its last line is missing") }
        guard meetsLast else { throw ServiceProblem.unsealed("\(path) does not continue the archive before it") }
        return found
    }

    private func broken(_ number: Int64) -> ServiceProblem { .unsealed("row \(number) of \(path) does not match its seal") }

    private func verify(_ batch: inout [UInt8], _ found: inout Verified, _ client: HomeClient) async throws {
        guard !batch.isEmpty else { return }
        let head: JSON = ["after": found.end.map(\.json) ?? .null]
        let body = head.write() + [UInt8(ascii: "\n")] + batch
        batch.removeAll(keepingCapacity: true)
        let answer = try await client.call(.post, "/admin/v1/audit/archive/verify", contentType: "application/x-ndjson", body)
        guard answer["intact"]?.bool == true, let end = AuditHead.Mark(answer["end"]) else {
            throw broken(Int64(answer["firstBroken"]?.int ?? 0))
        }
        found.end = end
        found.entries += answer["entries"]?.int ?? 0
        found.joins = answer["joins"]?.bool ?? false
    }
}

/// The lines of a file, one after another.
private struct LineReader: ~Copyable {
    private let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false

    init(_ path: String) throws {
        self.path = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ServerError(.notFound, "\(path) cannot be read: \(systemReason())") }
    }

    deinit { close(descriptor) }

    /// The next line, without its end; nil after the last.
    mutating func next() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            if isAtEnd {
                defer { start = buffer.count }
                return start < buffer.count ? Array(buffer[start...]) : nil
            }
            buffer.removeFirst(start)
            (start, searched) = (0, buffer.count)
            guard searched <= AuditArchive.lineLimit else { throw ServerError(.invalid, "\(path) has a line that is too long") }
            var chunk = [UInt8](repeating: 0, count: 1 << 18)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw ServerError(.home, "\(path) cannot be read: \(systemReason())") }
            if count == 0 { isAtEnd = true }
            buffer += chunk[..<count]
        }
    }
}
