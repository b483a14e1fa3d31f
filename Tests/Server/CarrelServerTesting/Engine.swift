// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Testing

/// The database that a test's service keeps its state in.
package enum Engine: CaseIterable {
    case sqlite
    case postgres

    @TaskLocal package static var current = Engine.sqlite

    /// Those that the tests run on: the one that CARREL_ENGINE names, or both.
    package static let wanted = allCases.filter { engine in
        guard let name = unsafe getenv("CARREL_ENGINE") else { return true }
        return unsafe "\(engine)" == String(cString: name)
    }
}

/// Runs a test once on each database.
package struct OnBothDatabases: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? nil : self
    }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for engine in Engine.wanted {
            try await Engine.$current.withValue(engine) { try await function() }
        }
    }
}

extension Trait where Self == OnBothDatabases {
    package static var onBothDatabases: Self { OnBothDatabases() }
}
