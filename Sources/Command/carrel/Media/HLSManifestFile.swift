// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import Glibc

/// A playlist or an MPD in a local file.
enum ManifestFile {
    /// Most bytes of a file: some 200,000 segments.
    static let limit = 8 << 20

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: the path of the file; `-` for standard input.
    ///   - limit: most bytes.
    /// - Returns: all of them.
    /// - Throws: ``ManifestFailure`` if it cannot be read or is longer.
    static func read(_ path: String, atMost limit: Int) throws(ManifestFailure) -> [UInt8] {
        let descriptor = unsafe path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var about = stat()
        // of a regular file the size is known, so that the array does not grow to twice of it
        if unsafe fstat(descriptor, &about) == 0, about.st_size > 0 { bytes.reserveCapacity(min(limit, Int(about.st_size))) }
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            guard count > 0 else { break }
            guard bytes.count + count <= limit else { throw ManifestFailure("\(path) is longer than \(limit) bytes", .badInput) }
            bytes += piece[..<count]
        }
        return bytes
    }

    private static func unreadable(_ path: String) -> ManifestFailure {
        ManifestFailure("\(path) cannot be read: \(unsafe String(cString: strerror(errno)))", .noInput)
    }
}

/// The error for a file that cannot be read, or has the wrong format.
struct ManifestFailure: ReportableError {
    let message: String
    let hint: String?
    let exitStatus: ExitStatus

    init(_ message: String, _ status: ExitStatus, hint: String? = nil) {
        self.message = message
        self.hint = hint
        exitStatus = status
    }

    init(_ path: String, _ fault: Malformed, hint: String? = nil) {
        self.init("\(path): \(fault.what) at byte \(fault.offset)", .badInput, hint: hint)
    }
}

extension JSON {
    /// Seconds, to the microsecond.
    static func seconds(_ duration: Duration) -> JSON {
        let (whole, attoseconds) = duration.components
        let microseconds = attoseconds / 1_000_000_000_000
        return microseconds == 0 ? .integer(whole) : .real((Double(whole) * 1e6 + Double(microseconds)) / 1e6)
    }

    static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
}
