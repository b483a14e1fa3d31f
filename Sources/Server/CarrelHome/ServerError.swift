// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP

/// An error of the server or of a command on its home.
package struct ServerError: CodedError, HTTPProblemConvertible {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<ServerError>

    /// The kind of failure.
    package let code: Code
    /// A lower-case sentence without a period, without secrets.
    package let message: String
    /// Id of the existing resource in a conflict; the member `id` of the problem document.
    package let conflictingID: String?

    package init(_ code: Code, _ message: String, conflictingID: String? = nil) {
        self.code = code
        self.message = message
        self.conflictingID = conflictingID
    }

    package var description: String { message }

    package var problem: HTTPError {
        HTTPError(status, .init(code), message, extra: conflictingID.map { [("id", .text($0))] } ?? [])
    }

    private var status: HTTPStatus {
        switch code {
        case .notFound: .notFound
        case .invalid: .badRequest
        case .conflict: .conflict
        case .unauthenticated: .unauthorized
        case .forbidden: .forbidden
        default: .internalServerError
        }
    }
}

extension ErrorCode where Failure == ServerError {
    package static var home: Self { Self("server.home") }
    /// There is no home at the given path.
    package static var homeMissing: Self { Self("server.home-missing") }
    /// A database and a blob store do not belong together.
    package static var installation: Self { Self("server.installation") }
    /// Too much of the blob store would be swept.
    package static var sweepRefused: Self { Self("server.sweep-refused") }
    package static var masterKey: Self { Self("server.master-key") }
    package static var notFound: Self { Self("request.not-found") }
    package static var invalid: Self { Self("request.invalid") }
    package static var conflict: Self { Self("request.conflict") }
    package static var unauthenticated: Self { Self("request.unauthenticated") }
    package static var forbidden: Self { Self("request.forbidden") }
}
