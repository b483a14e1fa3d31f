// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles
import Glibc

/// A program that reads one file, isolated, so that a broken decoder never takes this process down.
///
/// The kernel confines the child, even if its decoders are exploited: it may open the one file, and files of programs and
/// libraries, write nowhere, and reach neither the network nor another process (`clinux_spawn_confined`). It inherits no
/// descriptor; its processor time, memory and open files are limited, and its wall-clock time.
package struct ConfinedProgram: Sendable {
    /// Seconds of processor time: a day of audio takes minutes.
    private static let cpuSeconds = 4 * 3600
    private static let memoryBytes = 2 << 30
    /// Bytes of complaints, the only file it writes.
    private static let complaintBytes = 16 << 20
    private static let limits = clinux_limits(
        seconds: UInt64(cpuSeconds),
        memory: UInt64(memoryBytes),
        written: UInt64(complaintBytes),
        files: 64
    )
    private static let path = "/usr/local/bin:/usr/bin:/bin"
    /// The paths that may be read and run besides the file and the program.
    private static let system = [
        "/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache",
        "/dev/null", "/dev/urandom", "/dev/zero",
    ]

    private let name: String

    /// - Parameter name: looked for in the usual folders, unless it is a path.
    package init(_ name: String) {
        self.name = name
    }

    private var candidates: [String] {
        name.contains("/") ? [name] : Self.path.split(separator: ":").map { "\($0)/\(name)" }
    }

    /// The program's path; nil if it is not installed.
    private var executable: String? {
        candidates.first { unsafe access($0, X_OK) == 0 }
    }

    /// Runs the program and passes on what it prints.
    ///
    /// - Parameters:
    ///   - arguments: the arguments after the program's name.
    ///   - source: the path of the open file that it may read.
    ///   - limit: its time limit, in wall-clock time.
    ///   - body: receives the bytes as they arrive.
    /// - Throws: ``TranscodingError``, or errors of `body`; the child is ended then.
    package func run(
        _ arguments: [String],
        reading source: Int32,
        within limit: Duration,
        _ body: (RawSpan) throws -> Void
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe clinux_pipe(&ends) == 0 else { throw Self.failure(errno) }
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        let complaints = clinux_memory_file()
        defer {
            close(null)
            close(complaints)
            close(ends[0])
        }
        var pid: Int32 = 0
        let status = spawn(&pid, arguments, [null, ends[1], complaints], reading: source)
        close(ends[1])
        guard status == 0 else { throw Self.failure(status) }
        do {
            let deadline = ContinuousClock.now + limit
            guard try drain(ends[0], until: deadline, body), clinux_ends_within(pid, Self.milliseconds(until: deadline)) == 1
            else { throw TranscodingError(.timeout, "\(name) took longer than \(limit.components.seconds) seconds") }
        } catch {
            kill(-pid, SIGKILL)
            _ = clinux_reap(pid)
            throw error
        }
        let exit = clinux_reap(pid)
        guard exit == 0 else { throw Self.refusal(exit, complaints) }
    }

    private func spawn(_ pid: inout Int32, _ arguments: [String], _ standard: [Int32], reading source: Int32) -> Int32 {
        guard let program = executable else { return ENOENT }
        let words = unsafe Self.list([program] + arguments)
        let environment = unsafe Self.list(["PATH=\(Self.path)", "LC_ALL=C"])
        let readable = unsafe Self.list(Self.system + candidates)
        defer { unsafe (words + environment + readable).forEach { unsafe free($0) } }
        return unsafe clinux_spawn_confined(&pid, words, environment, standard, readable, source, Self.limits)
    }

    /// Texts as C wants them, ended by nil; the caller frees them.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        Int32(max(0, min(ContinuousClock.now.duration(to: deadline) / .milliseconds(1), 1e6)))
    }

    /// Passes on all that comes; false if it takes too long.
    private func drain(
        _ descriptor: Int32,
        until deadline: ContinuousClock.Instant,
        _ body: (RawSpan) throws -> Void
    ) throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&request, 1, Self.milliseconds(until: deadline))
            if ready == 0 {
                if ContinuousClock.now >= deadline { return false }
                continue
            }
            if ready < 0 {
                if errno == EINTR { continue }
                throw Self.failure(errno)
            }
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return true }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw Self.failure(errno)
            }
            try body(bytes.rawSpan.extracting(0..<count))
        }
    }

    private static func failure(_ number: Int32) -> TranscodingError {
        switch number {
        case EOPNOTSUPP: TranscodingError(.notConfined, "ffmpeg runs only where it can be confined")
        case ENOENT: TranscodingError(.notInstalled, "ffmpeg is not installed")
        default: TranscodingError(.failed, "ffmpeg cannot be run: \(systemReason(number))")
        }
    }

    /// The last line that the program complained with.
    private static func refusal(_ exit: Int32, _ complaints: Int32) -> TranscodingError {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let start = max(0, lseek(complaints, 0, SEEK_END) - 4096)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(complaints, $0.baseAddress, $0.count, start) }
        let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        return TranscodingError(.refused, lines.last.map { String($0) } ?? "it ended with \(exit)")
    }
}
