// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads
import Glibc

/// The output of a command: results go to standard output, everything else to standard error.
///
/// Untrusted text (titles, names, paths) is safe in notes, errors and tables; `print` writes its text unchanged.
package final class Console: Sendable {
    /// The program's name, which begins every note.
    package let name: String
    /// The sink of results.
    package let output: Terminal
    /// The sink of notes, errors and progress.
    package let diagnostics: Terminal
    package let options: OutputOptions
    package let environment: [String: String]
    /// Time since some fixed moment, never going back.
    let now: @Sendable () -> Duration
    private let screen: Screen

    /// - Parameters:
    ///   - name: the program's name.
    ///   - output: the destination of results.
    ///   - diagnostics: the destination of everything else.
    ///   - environment: the environment variables for commands.
    ///   - results: receives results.
    ///   - notes: receives everything else.
    ///   - now: returns a monotonic time.
    package convenience init(
        name: String,
        output: Terminal = Terminal(),
        diagnostics: Terminal = Terminal(),
        environment: [String: String] = [:],
        results: any TextSink,
        notes: any TextSink,
        now: @escaping @Sendable () -> Duration = Console.monotonicTime
    ) {
        let screen = Screen(results: results, notes: notes, rows: diagnostics.rows)
        self.init(name, output, diagnostics, OutputOptions(), environment, now, screen)
    }

    private init(
        _ name: String,
        _ output: Terminal,
        _ diagnostics: Terminal,
        _ options: OutputOptions,
        _ environment: [String: String],
        _ now: @escaping @Sendable () -> Duration,
        _ screen: Screen
    ) {
        self.name = name
        self.output = output
        self.diagnostics = diagnostics
        self.options = options
        self.environment = environment
        self.now = now
        self.screen = screen
    }

    /// The process's own standard output and standard error.
    package static func standard(name: String) -> Console {
        let environment = processEnvironment()
        return Console(
            name: name,
            output: Terminal(descriptor: STDOUT_FILENO, environment: environment),
            diagnostics: Terminal(descriptor: STDERR_FILENO, environment: environment),
            environment: environment,
            results: FileSink(descriptor: STDOUT_FILENO),
            notes: FileSink(descriptor: STDERR_FILENO)
        )
    }

    /// Returns the same console with other options.
    package func with(_ options: OutputOptions) -> Console {
        Console(name, output, diagnostics, options, environment, now, screen)
    }

    // MARK: Results

    /// Prints a result and a line break, immediately, on a terminal and in a pipe.
    package func print(_ text: String) {
        screen.result(Array(text.utf8) + [UInt8(ascii: "\n")])
    }

    /// Prints bytes unchanged.
    package func write(_ bytes: [UInt8]) {
        screen.result(bytes)
    }

    /// Prints a table: cut to the width of a terminal, whole in a pipe.
    package func print(_ table: TextTable) {
        print(table.text(width: output.isInteractive ? output.columns : nil, heading: output.bold))
    }

    /// Whether the reader of results is gone (`carrel list | head -1`): the rest of the output may be left out.
    package var isOutputClosed: Bool { outputFailure == EPIPE }

    /// The `errno` of failed output; nil while output succeeds. Later results are dropped.
    var outputFailure: Int32? { screen.failure }

    // MARK: Notes

    /// Reports progress. Silent with `--quiet`.
    package func note(_ text: String) {
        if !options.quiet { screen.note("\(text.printable)\n") }
    }

    /// Prints a line whose parts have styles of their own, separated by spaces. Silent with `--quiet`.
    ///
    /// - Parameter parts: the texts, which may be untrusted; a style is used only on a terminal that has color.
    package func note(_ parts: [(text: String, style: Terminal.Style?)]) {
        guard !options.quiet else { return }
        let texts = parts.map { part in
            let text = part.text.printable
            return part.style.map { diagnostics.styled(text, $0) } ?? text
        }
        screen.note("\(texts.joined(separator: " "))\n")
    }

    /// Prints a warning. Silent with `--quiet`.
    package func warning(_ text: String, hint: String? = nil) {
        if !options.quiet { tell("warning", .yellow, text, hint) }
    }

    /// Prints an error.
    package func error(_ text: String, hint: String? = nil) {
        tell("error", .red, text, hint)
    }

    private func tell(_ kind: String, _ style: Terminal.Style, _ text: String, _ hint: String?) {
        var lines = "\(name): \(diagnostics.styled("\(kind):", style)) \(text.printable)\n"
        if let hint { lines += "\(name): \(diagnostics.styled("hint:", .bold)) \(hint.printable)\n" }
        screen.note(lines)
    }

    /// Reports the error that ended a command.
    ///
    /// - Parameters:
    ///   - error: any error; a `ReportableError` provides details.
    ///   - usage: the command for help.
    ///   - asJSON: whether to print one line of JSON instead of text.
    /// - Returns: the exit status of the program.
    func report(_ error: any Error, usage: String, asJSON: Bool = false) -> ExitStatus {
        if error is CancellationError { return .interrupted }
        let report = error as? any ReportableError
        let message = report?.message ?? String(describing: error)
        let hint = report?.hint ?? (error is UsageError ? "see '\(usage)'" : nil)
        let status = report?.exitStatus ?? .failure
        guard asJSON else {
            self.error(message, hint: hint)
            return status
        }
        let code = report?.reportedCode ?? (error as? any CodedError).map { Self.identifier(of: $0) }
        screen.note("\(Self.json(message, hint, code, status))\n")
        return status
    }

    private static func identifier(of error: some CodedError) -> String { error.code.identifier }

    // MARK: Progress

    /// Whether progress is shown: not with `--quiet` and not with `--json`.
    var showsProgress: Bool { !options.quiet && !options.json }

    /// Returns the identity of a further line at the bottom of the terminal.
    func makeLine() -> Screen.LineID { screen.makeLine() }

    /// Sets a line at the bottom of the terminal; notes and results scroll above it. Nil removes it.
    func setLine(_ id: Screen.LineID, _ line: String?) {
        screen.setLine(id, line)
    }

    /// Time since the machine started.
    package static let monotonicTime: @Sendable () -> Duration = {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// The process's environment.
private func processEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var next = unsafe environ
    while let entry = unsafe next.pointee {
        let text = unsafe String(cString: entry)
        if let equals = text.firstIndex(of: "=") {
            variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        unsafe next += 1
    }
    return variables
}
