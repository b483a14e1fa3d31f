// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The system refused a thread: too many run, or there is no memory for its stack. Trying again later helps.
package struct ThreadRefused: Error, Equatable, Sendable, CustomStringConvertible {
    /// The number of the error (`errno`).
    package let status: Int32

    /// - Parameter status: the number of the error (`errno`).
    package init(status: Int32) {
        self.status = status
    }

    package var description: String { "the system refused a thread (\(status)): try again (thread.refused)" }
}

/// Starts optional threads: if the system refuses one, the caller continues without it.
package struct ThreadStarter: Sendable {
    /// The body of a thread.
    package typealias Body = @Sendable () -> Void

    private let begin: @Sendable (_ name: String, _ body: @escaping Body) throws(ThreadRefused) -> Void

    /// - Parameter begin: starts a detached thread.
    package init(_ begin: @escaping @Sendable (_ name: String, _ body: @escaping Body) throws(ThreadRefused) -> Void) {
        self.begin = begin
    }

    /// Threads of the system.
    package static let system = ThreadStarter.system(stackSize: nil)

    /// Creates a starter of system threads with another stack size.
    ///
    /// - Parameter stackSize: the size in bytes, a multiple of the page size; nil for the process's default.
    /// - Returns: the starter.
    package static func system(stackSize: Int?) -> ThreadStarter {
        ThreadStarter { name, body throws(ThreadRefused) in
            var attributes = pthread_attr_t()
            unsafe pthread_attr_init(&attributes)
            defer { unsafe pthread_attr_destroy(&attributes) }
            var status: Int32 = 0
            if let stackSize { status = unsafe pthread_attr_setstacksize(&attributes, stackSize) }
            guard status == 0 else { throw ThreadRefused(status: status) }
            let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
            var thread = pthread_t()
            status = unsafe pthread_create(&thread, &attributes, threadMain, start.toOpaque())
            guard status == 0 else {
                unsafe start.release()
                throw ThreadRefused(status: status)
            }
            pthread_detach(thread)
        }
    }

    /// Starts a detached thread that runs `body` and ends.
    ///
    /// - Parameters:
    ///   - name: shown by `ps -T`; the kernel keeps 15 characters.
    ///   - body: runs on the new thread.
    /// - Throws: ``ThreadRefused``; then `body` does not run.
    package func start(name: String, _ body: @escaping Body) throws(ThreadRefused) { try begin(name, body) }
}

/// Starts a detached thread that the process requires. Traps if the system refuses it.
///
/// - Parameters:
///   - name: the name in `ps -T`, cut to 15 characters.
///   - body: runs on the new thread.
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    do throws(ThreadRefused) { try ThreadStarter.system.start(name: name, body) } catch {
        preconditionFailure(error.description)
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    unsafe clinux_name_thread(String(start.name.prefix(15)))
    start.body()
    return nil
}
