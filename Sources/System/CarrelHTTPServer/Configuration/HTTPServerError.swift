// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
internal import CarrelThreads

/// The reason why a server cannot start.
package struct HTTPServerError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<HTTPServerError>

    /// The kind of failure.
    package let code: Code
    /// The failure and the remedy: a lower-case sentence without a period.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ThreadStarter {
    /// Starts a thread without which a server does not work.
    ///
    /// - Parameters:
    ///   - name: shown by `ps -T`.
    ///   - body: runs on the new thread.
    /// - Throws: `server.resources`.
    func start(required name: String, _ body: @escaping Body) throws(HTTPServerError) {
        do throws(ThreadRefused) { try start(name: name, body) } catch {
            throw HTTPServerError(
                .resources,
                "the system refused a thread (error \(error.status)): end other programs, or raise the limit"
            )
        }
    }
}

extension ErrorCode where Failure == HTTPServerError {
    /// A listener's address is not numeric, or a Unix path is too long.
    package static var address: Self { Self("server.address") }
    /// The system does not let us listen there.
    package static var listen: Self { Self("server.listen") }
    /// The certificate or its key cannot be used.
    package static var tls: Self { Self("server.tls") }
    /// The system refused a thread or a descriptor.
    package static var resources: Self { Self("server.resources") }
}
