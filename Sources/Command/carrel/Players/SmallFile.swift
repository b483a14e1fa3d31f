// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import Glibc

/// Reads a small input file, or standard input.
enum SmallFile {
    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: the path of the file; `-` reads standard input.
    ///   - limit: its largest size in bytes.
    /// - Returns: its bytes.
    /// - Throws: ``SmallFileProblem``.
    static func read(_ path: String, limit: Int) throws(SmallFileProblem) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .missing(path, unsafe String(cString: strerror(errno))) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .missing(path, unsafe String(cString: strerror(errno))) }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
        }
        throw .large(path, limit)
    }
}

/// Why a file was not read.
enum SmallFileProblem: ReportableError {
    case missing(String, String)
    case large(String, Int)

    var message: String {
        switch self {
        case .missing(let path, let reason): "\(path) cannot be read: \(reason)"
        case .large(let path, let limit): "\(path) is larger than \(limit) bytes"
        }
    }

    var hint: String? { nil }
    var exitStatus: ExitStatus { .noInput }
}
