// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// A failure of `/AcquireLicense`: 400, 403 or 500, with the text in `X-AxDRM-ErrorMessage`.
struct AcquireLicenseFailure: HTTPProblemConvertible, CustomStringConvertible {
    private let error: any Error

    init(_ error: any Error) {
        self.error = error
    }

    var problem: HTTPError {
        let unknown = HTTPError(
            .internalServerError,
            "http.internal",
            "internal error: see the server log for this request id"
        )
        var problem = known ?? unknown
        problem.status =
            switch problem.status.rawValue {
            case 400, 411, 413, 415, 422: .badRequest
            case 500...: .internalServerError
            default: .forbidden
            }
        problem.headers["X-AxDRM-ErrorMessage"] = Self.field(problem.message)
        return problem
    }

    /// Whether the server logs it: unknown errors are logged, as on other routes.
    var isFailure: Bool { (error as? any HTTPProblemConvertible)?.isFailure ?? (known == nil) }

    var description: String { "\(error)" }

    private var known: HTTPError? { error as? HTTPError ?? (error as? any HTTPProblemConvertible)?.problem }

    /// A text as the value of a field: visible ASCII, at most 512 bytes.
    private static func field(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(512).map { 0x20...0x7e ~= $0.value ? $0 : "?" }))
    }
}
