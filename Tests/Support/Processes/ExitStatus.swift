// SPDX-License-Identifier: Apache-2.0

/// How a process ended.
package enum ExitStatus: Equatable, Sendable {
    /// It returned this exit code, 0–255.
    case exited(Int32)
    /// This signal ended it.
    case signaled(Int32)

    init(code: Int32) {
        self = code >= 0 ? .exited(code) : .signaled(-code)
    }

    /// Whether the exit code is 0.
    package var isSuccess: Bool { self == .exited(0) }
}
