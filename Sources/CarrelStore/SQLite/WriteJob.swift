/// One waiting call of `write`: what to run, and whom to tell.
class WriteJob: @unchecked Sendable {  // made by the caller, then used by the writer's thread alone
    /// What it threw, kept until the group is committed.
    final var failure: (any Error)?

    /// Runs the closure and keeps its result.
    func run(in transaction: any Transaction) throws {
        fatalError("a write job says what it runs")
    }

    /// Tells the caller; without an error, what the last run returned or threw.
    func answer(_ error: (any Error)? = nil) {
        fatalError("a write job says whom it tells")
    }
}

/// A waiting call whose closure returns `Value`.
@safe
final class WriteCall<Value: Sendable>: WriteJob, @unchecked Sendable {  // as its superclass
    private let body: @Sendable (any Transaction) throws -> Value
    private let continuation: UnsafeContinuation<Value, any Error>
    private var value: Value?

    init(_ continuation: UnsafeContinuation<Value, any Error>, _ body: @escaping @Sendable (any Transaction) throws -> Value) {
        unsafe self.continuation = continuation
        self.body = body
    }

    override func run(in transaction: any Transaction) throws {
        value = try body(transaction)
    }

    override func answer(_ error: (any Error)?) {
        if let error = error ?? failure {
            unsafe continuation.resume(throwing: error)
        } else if let value {
            unsafe continuation.resume(returning: value)
        } else {
            unsafe continuation.resume(throwing: StoreError(.unavailable, "the write never ran"))
        }
    }
}
