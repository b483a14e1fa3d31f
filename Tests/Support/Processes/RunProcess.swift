// SPDX-License-Identifier: Apache-2.0

/// Runs a program to its end and returns what it wrote.
///
/// It runs in a session of its own. At the end, at the time limit, when the task is cancelled and when the test run dies,
/// everything left of its process group is killed.
/// - Parameters:
///   - arguments: the program, looked up in PATH, and its arguments.
///   - environment: the whole environment; nil means this process's.
///   - directory: where it starts; nil means here.
///   - input: its standard input.
///   - timeout: after which it is killed.
///   - limit: bytes it may write to each of its outputs.
/// - Returns: its status and outputs, whole.
/// - Throws: ``ProcessError`` when it cannot be started, takes too long, writes too much, or the task is cancelled. A bad exit
///   status is not an error here; see ``checkProcess(_:environment:directory:input:timeout:limit:)``.
package func runProcess(
    _ arguments: [String],
    environment: [String: String]? = nil,
    directory: String? = nil,
    input: [UInt8] = [],
    timeout: Duration = .seconds(60),
    limit: Int = 64 << 20
) async throws(ProcessError) -> ProcessResult {
    let child = try ChildProcess(
        arguments,
        environment: environment,
        directory: directory,
        input: input,
        limit: limit,
        keepsTail: false
    )
    let deadline = ContinuousClock.now + timeout
    _ = await child.wait(timeout) { $0.overflowed }
    if child.progress.status == nil {
        child.kill()
        await child.waitForEnd()
        if Task.isCancelled { throw ProcessError(.cancelled, "\(child.name) was cancelled") }
        if deadline <= .now, !child.progress.overflowed {
            throw ProcessError(.timeout, "\(child.name) was still running after \(timeout)\(child.lastWords)")
        }
    }
    let progress = child.progress
    if progress.overflowed { throw ProcessError(.tooMuchOutput, "\(child.name) wrote more than \(limit) bytes") }
    guard let status = progress.status else { throw ProcessError(.ended, "\(child.name) ended without a status") }
    return ProcessResult(status: status, output: progress.output, errors: progress.errors)
}

/// Runs a program to its end and returns its standard output as text.
///
/// - Parameters:
///   - arguments: the program, looked up in PATH, and its arguments.
///   - environment: the whole environment; nil means this process's.
///   - directory: where it starts; nil means here.
///   - input: its standard input.
///   - timeout: after which it is killed.
///   - limit: bytes it may write to each of its outputs.
/// - Returns: its standard output.
/// - Throws: as `runProcess`, and `process.ended` with the end of its standard error when the exit code is not 0.
@discardableResult
package func checkProcess(
    _ arguments: [String],
    environment: [String: String]? = nil,
    directory: String? = nil,
    input: [UInt8] = [],
    timeout: Duration = .seconds(60),
    limit: Int = 64 << 20
) async throws(ProcessError) -> String {
    let result = try await runProcess(
        arguments,
        environment: environment,
        directory: directory,
        input: input,
        timeout: timeout,
        limit: limit
    )
    guard result.status.isSuccess else {
        let words = result.errorText.suffix(2000)
        throw ProcessError(.ended, "\(arguments.first ?? "") ended with \(result.status): \(words)")
    }
    return result.text
}
