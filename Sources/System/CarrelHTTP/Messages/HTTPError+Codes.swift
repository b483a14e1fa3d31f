// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

extension ErrorCode where Failure == HTTPError {
    /// Creates the code of another error, for the response to a client.
    ///
    /// - Parameter other: the code of the other error.
    public init(_ other: ErrorCode<some Any>) { self.init(other.identifier) }
}

extension HTTPError {
    /// 404 `request.not-found`: the path names nothing.
    ///
    /// - Parameter detail: a lower-case sentence without a period; nil for the phrase of the status.
    /// - Returns: the error.
    package static func notFound(_ detail: String? = nil) -> HTTPError { HTTPError(.notFound, "http.notFound", detail) }

    /// 403 `request.other-origin`: a page of another origin sent the request.
    ///
    /// - Parameter detail: a lower-case sentence without a period.
    /// - Returns: the error.
    package static func otherOrigin(_ detail: String) -> HTTPError { HTTPError(.forbidden, "http.otherOrigin", detail) }

    /// 415 `request.media-type`: the body has another type.
    ///
    /// - Parameter detail: a lower-case sentence without a period.
    /// - Returns: the error.
    package static func mediaType(_ detail: String) -> HTTPError { HTTPError(.unsupportedMediaType, "http.mediaType", detail) }

    /// 413 `request.too-large`: the body is too long.
    ///
    /// - Parameter limit: the most bytes of a body.
    /// - Returns: the error.
    package static func bodyTooLarge(limit: Int) -> HTTPError {
        HTTPError(.contentTooLarge, "http.bodyTooLarge", "the body is larger than \(limit) bytes")
    }
}
