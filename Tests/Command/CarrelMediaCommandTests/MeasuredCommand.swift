// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// The command's result, with the time and the memory that it took.
struct MeasuredCommand {
    let result: ProcessResult
    let seconds: Double
    /// The peak of its memory.
    let mebibytes: Double

    /// The number of the system call `getrusage`.
    private static let callNumber: Int = {
        #if arch(arm64)
            165
        #else
            98
        #endif
    }()

    /// Runs the command to its end in a small process, because a child inherits the peak of the process that starts it.
    ///
    /// - Parameter arguments: of the command.
    /// - Returns: the result, without the line of the measurement.
    /// - Throws: the error of a process that does not start; `TestPeer.Missing`.
    static func run(_ arguments: [String]) async throws -> MeasuredCommand {
        let script = """
            use Time::HiRes qw(time);
            my $start = time; my $status = system(@ARGV); my $seconds = time - $start;
            my $use = "\\0" x 144; syscall(\(callNumber), -1, $use);
            print STDERR "PEAK $seconds ", unpack("x32 q", $use), "\\n"; exit($status >> 8);
            """
        let result = try await runProcess(
            [try requirePeer("perl"), "-e", script, try CarrelProgram.path()] + arguments,
            timeout: .seconds(900)
        )
        let line = try #require(result.errorText.split(separator: "\n").last { $0.hasPrefix("PEAK ") })
        let fields = line.split(separator: " ")
        return MeasuredCommand(
            result: result,
            seconds: try #require(Double(fields[1])),
            mebibytes: try #require(Double(fields[2])) / 1024
        )
    }
}
