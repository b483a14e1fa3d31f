// SPDX-License-Identifier: Apache-2.0

/// One waiting call of `write`: the work and its caller.
protocol WriteJob: AnyObject, Sendable {
    /// The error of the last run, kept until the group is committed.
    var failure: (any Error)? { get set }

    /// Runs the closure and keeps its result.
    func run(in transaction: any Transaction) throws

    /// Reports the group's error to the caller, or if `error` is nil, the last run's result or error.
    func answer(_ error: (any Error)?)
}

/// A waiting call whose closure returns `Value`.
@safe
final class WriteCall<Value: Sendable>: WriteJob, @unchecked Sendable {  // one holder at a time
    var failure: (any Error)?
    private let body: @Sendable (any Transaction) throws -> Value
    private let continuation: UnsafeContinuation<Value, any Error>
    private var value: Value?

    init(_ continuation: UnsafeContinuation<Value, any Error>, _ body: @escaping @Sendable (any Transaction) throws -> Value) {
        unsafe self.continuation = continuation
        self.body = body
    }

    func run(in transaction: any Transaction) throws {
        value = try body(transaction)
    }

    func answer(_ error: (any Error)?) {
        if let error = error ?? failure {
            unsafe continuation.resume(throwing: error)
        } else if let value {
            unsafe continuation.resume(returning: value)
        } else {
            unsafe continuation.resume(throwing: StoreError(.unavailable, "the write never ran"))
        }
    }
}
