// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelHTTP
public import CarrelPublication

extension ResourceError: HTTPProblemConvertible {
    /// The problem for a client: the code is the error's own.
    public var problem: HTTPError {
        let status: HTTPStatus =
            switch code {
            case .notFound: .notFound
            case .forbidden: .forbidden
            case .unavailable: .serviceUnavailable
            case .cancelled: .clientClosedRequest
            default: .internalServerError
            }
        return HTTPError(status, .init(code), message)
    }
}
