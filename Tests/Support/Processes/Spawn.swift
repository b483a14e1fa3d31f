// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Starts a program in a session of its own.
///
/// - Parameters:
///   - arguments: the program, looked up in PATH, and its arguments.
///   - environment: the whole environment; nil means this process's.
///   - directory: where it starts; nil means here.
///   - standard: its descriptors 0, 1 and 2; it has no others.
/// - Returns: the process id.
/// - Throws: `process.notStarted`.
func spawn(
    _ arguments: [String],
    environment: [String: String]?,
    directory: String?,
    standard: [Int32]
) throws(ProcessError) -> Int32 {
    guard let name = arguments.first else { throw ProcessError(.notStarted, "no program was named") }
    var pid: Int32 = 0
    let inherited = inheritedEnvironment()
    // A sanitizer writes what it finds where these say, whatever else a test takes from a program.
    let ofSanitizers = inherited.filter { $0.hasPrefix("ASAN_OPTIONS=") || $0.hasPrefix("TSAN_OPTIONS=") }
    let variables = environment.map { ofSanitizers + $0.map { "\($0.key)=\($0.value)" } } ?? inherited
    let error = unsafe withCStrings(arguments) { argv in
        unsafe withCStrings(variables) { envp in
            if let directory { return unsafe clinux_spawn(&pid, argv, envp, directory, standard) }
            return unsafe clinux_spawn(&pid, argv, envp, nil, standard)
        }
    }
    guard error == 0 else {
        throw unsafe ProcessError(.notStarted, "\(name) could not be started: \(String(cString: strerror(error)))")
    }
    return pid
}

private func inheritedEnvironment() -> [String] {
    var variables: [String] = []
    var next = unsafe environ
    while let variable = unsafe next.pointee {
        unsafe variables.append(String(cString: variable))
        unsafe next += 1
    }
    return variables
}

private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { preconditionFailure("the list ends with a null pointer") }
        return unsafe body(start)
    }
}
