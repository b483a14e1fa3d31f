// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
internal import CarrelThreads

/// The domain of ``HTTPServerError``.
package enum HTTPServerErrorDomain: ErrorDomain {}

/// Why a server does not start.
package typealias HTTPServerError = CodedFailure<HTTPServerErrorDomain>

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
