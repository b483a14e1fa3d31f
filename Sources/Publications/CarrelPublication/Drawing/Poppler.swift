// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelFiles
import CarrelThreads
import Glibc

/// Runs the programs of Poppler (`pdftoppm`, `pdftotext`) on a PDF document, if they are installed.
///
/// Each runs as a child confined by the kernel: it may read the one file, and files of programs, libraries and fonts, write
/// nowhere, and reach neither the network nor another process (`clinux_spawn_confined`); its time, memory and output are limited.
/// It is ended when all callers have canceled.
package struct Poppler: Sendable {
    /// The folders in which programs are searched, as in PATH.
    private let path: String
    /// The time limit in seconds from a program's start.
    private let seconds: Int

    package static let path = "/usr/local/bin:/usr/bin:/bin"

    /// The reason for missing output of a program.
    enum Failure: Error {
        /// It is not there, cannot be confined as it has to be, or the machine has no room for it.
        case unavailable
        /// All callers have given up.
        case cancelled
        /// It took more time, or wrote more, than it may.
        case tooLarge
        /// It ended with an error.
        case failed
    }

    /// Seconds of processor time.
    private static let cpuSeconds = 20
    private static let memoryBytes = 1 << 30
    private static let limits = clinux_limits(
        seconds: UInt64(cpuSeconds),
        memory: UInt64(memoryBytes),
        written: 0,
        files: 64
    )
    /// The arguments of a program, without its path.
    private static let readable = [
        "/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
        "/etc/fonts", "/usr/share/fonts", "/usr/share/fontconfig", "/usr/share/poppler", "/var/cache/fontconfig",
        "/usr/local/share/fonts", "/dev/null", "/dev/urandom",
    ]
    /// Two, so that the words of a page need not wait for its picture.
    private static let threads = BlockingThreadPool(name: "carrel-poppler", count: 2)

    package init(path: String = Self.path, seconds: Int = 60) {
        self.path = path
        self.seconds = seconds
    }

    /// Whether there is such a program.
    func has(_ program: String) -> Bool {
        place(of: program) != nil
    }

    /// The program in the first folder that has it.
    private func place(of program: String) -> String? {
        path.split(separator: ":").map { "\($0)/\(program)" }.first { unsafe access($0, X_OK) == 0 }
    }

    /// Runs a program until it exits.
    ///
    /// - Parameters:
    ///   - words: the program and its options, before the document.
    ///   - others: the arguments after the document.
    ///   - document: the decrypted document.
    ///   - limit: the maximum output in bytes.
    /// - Returns: its output.
    /// - Throws: ``Failure``.
    func run(
        _ words: [String],
        _ others: [String] = [],
        on document: FileResource,
        upTo limit: Int
    ) async throws(Failure) -> [UInt8] {
        let child = Child()
        do {
            return try await withTaskCancellationHandler {
                try await Self.threads.run { try run(words + ["/proc/self/fd/0"] + others, on: document, upTo: limit, child) }
            } onCancel: {
                child.end(.cancelled)
            }
        } catch {
            throw error as? Failure ?? .failed
        }
    }

    private func run(_ words: [String], on document: FileResource, upTo limit: Int, _ child: Child) throws(Failure) -> [UInt8] {
        // opened again, so that the child has its own file offset
        let input = unsafe open("/proc/self/fd/\(document.descriptor)", O_RDONLY | O_CLOEXEC)
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        var ends: [Int32] = [-1, -1]
        defer { for descriptor in [input, null, ends[0]] where descriptor >= 0 { close(descriptor) } }
        guard input >= 0, null >= 0, unsafe clinux_pipe(&ends) == 0 else { throw .unavailable }
        guard let program = place(of: words[0]) else { throw .unavailable }
        let arguments = unsafe Self.list([program] + words.dropFirst())
        let environment = unsafe Self.list(["PATH=\(path)", "LC_ALL=C"])
        let places = unsafe Self.list(Self.readable + path.split(separator: ":").map(String.init))
        defer { unsafe (arguments + environment + places).forEach { unsafe free($0) } }
        defer { if ends[1] >= 0 { close(ends[1]) } }
        try child.start { pid in
            unsafe clinux_spawn_confined(&pid, arguments, environment, [input, ends[1], null], places, input, Self.limits) == 0
        }
        // its end would keep ours open
        close(ends[1])
        ends[1] = -1
        let deadline = ContinuousClock.now + .seconds(seconds)
        let bytes = PipeReader.readAll(ends[0], upTo: limit, until: deadline)
        // a child must also exit after its output
        if bytes == nil || !child.ends(until: deadline) { child.end(.tooLarge) }
        let outcome = child.wait()
        if let bytes, outcome == 0 { return bytes }
        if let reason = child.reason { throw reason }
        throw switch outcome {
        case -SIGKILL, -SIGXCPU: .tooLarge
        // it cannot execute a required program
        case 126, 127: .unavailable
        default: .failed
        }
    }

    /// Texts as C wants them, ended by nil; the caller frees them.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    /// A process that any thread may end for as long as its number is its own.
    private final class Child: Sendable {
        private enum State {
            case waiting
            case running(Int32)
            case over
        }

        private let state = Locked((state: State.waiting, reason: Failure?.none))

        /// The reason for its end.
        var reason: Failure? { state.withLock { $0.reason } }

        /// - Parameter spawn: starts the process and sets its id.
        /// - Throws: `unavailable` if it fails, or the reason if it was ended before.
        func start(_ spawn: (inout Int32) -> Bool) throws(Failure) {
            let failure: Failure? = state.withLock { child in
                var pid: Int32 = 0
                guard case .waiting = child.state else { return child.reason ?? .failed }
                guard spawn(&pid) else { return .unavailable }
                child.state = .running(pid)
                return nil
            }
            if let failure { throw failure }
        }

        /// Ends it, or keeps it from starting.
        func end(_ reason: Failure) {
            state.withLock { child in
                switch child.state {
                case .waiting: child.state = .over
                case .running(let pid): kill(-pid, SIGKILL)
                case .over: return
                }
                child.reason = child.reason ?? reason
            }
        }

        /// Whether it ends in time.
        func ends(until deadline: ContinuousClock.Instant) -> Bool {
            guard case .running(let pid) = state.withLock({ $0.state }) else { return true }
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            return clinux_ends_within(pid, Int32(max(0, min(left, 1e6)))) == 1
        }

        /// Its exit code, once it has ended; minus the signal that ended it.
        func wait() -> Int32 {
            guard case .running(let pid) = state.withLock({ $0.state }) else { return -1 }
            // exited, and not yet reaped: its number is not reused until then
            var about = unsafe siginfo_t()
            while unsafe waitid(P_PID, id_t(pid), &about, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            state.withLock { $0.state = .over }
            return clinux_reap(pid)
        }
    }
}
