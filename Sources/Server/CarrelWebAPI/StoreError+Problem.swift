// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHTTP
package import CarrelStore

extension StoreError: HTTPProblemConvertible {
    /// The errors that a client can act on; all others are internal, and only the server's log names them.
    package var problem: HTTPError {
        switch code {
        case .text: HTTPError(.badRequest, "request.invalid", "a text in the request contains the character U+0000")
        case .full: HTTPError(.insufficientStorage, HTTPError.Code(code), "the server's disk is full", headers: Self.later)
        case .busy:
            HTTPError(.serviceUnavailable, HTTPError.Code(code), "the database is busy: try again", headers: ["Retry-After": "1"])
        case .readOnly:
            HTTPError(
                .serviceUnavailable,
                HTTPError.Code(code),
                "the database is read-only at the moment: try again later",
                headers: Self.later
            )
        case .unavailable, .closed:
            HTTPError(
                .serviceUnavailable,
                HTTPError.Code(code),
                "the database or the disk does not respond: try again later",
                headers: Self.later
            )
        case .damaged:
            HTTPError(
                .internalServerError,
                HTTPError.Code(code),
                "the file of this title is damaged on the server; operators: run 'carrel blobs check'"
            )
        default:
            HTTPError(.internalServerError, "http.internal", "internal error: see the server log for this request id")
        }
    }

    /// The seconds until a retry, if the operator may have to act first.
    private static let later: HTTPFields = ["Retry-After": "10"]
}
