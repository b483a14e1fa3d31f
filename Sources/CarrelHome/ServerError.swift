package import CarrelHTTP

/// What the server or a command on its home could not do, and why.
package struct ServerError: HTTPProblemConvertible, Equatable, CustomStringConvertible {
    /// The kind of failure; its raw value is the same in logs, HTTP problems, the command line and the documentation.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let home = Code(rawValue: "server.home")
        /// There is no home where one was looked for.
        package static let homeMissing = Code(rawValue: "server.home-missing")
        /// A database and a blob store do not belong together.
        package static let installation = Code(rawValue: "server.installation")
        /// Too much of the blob store would be swept.
        package static let sweepRefused = Code(rawValue: "server.sweep-refused")
        package static let masterKey = Code(rawValue: "server.master-key")
        package static let notFound = Code(rawValue: "request.not-found")
        package static let invalid = Code(rawValue: "request.invalid")
        package static let conflict = Code(rawValue: "request.conflict")
        package static let unauthenticated = Code(rawValue: "request.unauthenticated")
        package static let forbidden = Code(rawValue: "request.forbidden")
    }

    package let code: Code
    /// A lower-case sentence without a period, without secrets.
    package let detail: String
    /// Of what a request conflicts with; the member `id` of the problem document.
    package let conflictingID: String?

    package init(_ code: Code, _ detail: String, conflictingID: String? = nil) {
        self.code = code
        self.detail = detail
        self.conflictingID = conflictingID
    }

    package static func == (a: Self, b: Self) -> Bool { a.code == b.code }

    package var description: String { detail }

    package var problem: HTTPError {
        HTTPError(status, code.rawValue, detail, extra: conflictingID.map { [("id", .text($0))] } ?? [])
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
