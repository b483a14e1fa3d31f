// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Testing

/// For tests whose child process ends by a fault on purpose: it writes no backtrace, whose symbols take ten seconds for a program of
/// this size. The process of the tests itself keeps what it was started with.
package struct WithoutBacktrace: TestTrait, TestScoping {
    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let before = unsafe getenv("SWIFT_BACKTRACE").map { unsafe String(cString: $0) }
        unsafe setenv("SWIFT_BACKTRACE", "enable=no", 1)
        defer {
            if let before { unsafe setenv("SWIFT_BACKTRACE", before, 1) } else { unsafe unsetenv("SWIFT_BACKTRACE") }
        }
        try await function()
    }
}

extension Trait where Self == WithoutBacktrace {
    package static var withoutBacktrace: Self { Self() }
}
