import Glibc
import Testing

/// The database that a test's service keeps its state in.
enum Engine: CaseIterable {
    case sqlite
    case postgres

    @TaskLocal static var current = Engine.sqlite

    /// Those that the tests run on: the one that CARREL_ENGINE names, or both.
    static let wanted = allCases.filter { engine in
        guard let name = unsafe getenv("CARREL_ENGINE") else { return true }
        return unsafe "\(engine)" == String(cString: name)
    }
}

/// Runs a test once on each database.
struct OnBothDatabases: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? nil : self
    }

    func provideScope(
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
    static var onBothDatabases: Self { OnBothDatabases() }
}
