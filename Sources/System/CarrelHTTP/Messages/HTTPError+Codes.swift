// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

extension ErrorCode where Failure == HTTPError {
    /// The code of another error, for the response to a client.
    public init(_ other: ErrorCode<some Any>) { self.init(other.identifier) }
}

/// Codes of earlier versions. Problem documents have them as aliases until the next major version.
enum RenamedCodes {
    /// The code of today, by the one of earlier versions.
    static let kept = [
        // two codes for one kind of failure, which other errors have without an alias
        "http.notFound": "request.not-found",
        "http.otherOrigin": "request.other-origin",
        "http.mediaType": "request.media-type",
        "http.bodyTooLarge": "request.too-large",
        // other spelling
        "http.bodyCutOff": "http.body-cut-off",
        "http.bodyMemory": "http.body-memory",
        "http.lengthRequired": "http.length-required",
        "http.methodNotAllowed": "http.method-not-allowed",
        "http.requestLine": "http.request-line",
        "http.responseField": "http.response-field",
        "http.responseTooLarge": "http.response-too-large",
        "loopback.otherProcess": "loopback.other-process",
        "loopback.otherUser": "loopback.other-user",
        "reader.otherUser": "reader.other-user",
        "subscription.secretInQuery": "subscription.secret-in-query",
    ]

    /// The alias of a code of today that has been spelled differently.
    static let aliases = Dictionary(
        uniqueKeysWithValues: kept.lazy.filter { !$0.value.hasPrefix("request.") }.map { ($0.value, $0.key) }
    )
}

extension HTTPError {
    /// 404 `request.not-found`: the path names nothing.
    ///
    /// - Parameter detail: a lower-case sentence without a period; nil for the phrase of the status.
    package static func notFound(_ detail: String? = nil) -> HTTPError { HTTPError(.notFound, "http.notFound", detail) }

    /// 403 `request.other-origin`: a page of another origin sent the request.
    ///
    /// - Parameter detail: a lower-case sentence without a period.
    package static func otherOrigin(_ detail: String) -> HTTPError { HTTPError(.forbidden, "http.otherOrigin", detail) }

    /// 415 `request.media-type`: the body has another type.
    ///
    /// - Parameter detail: a lower-case sentence without a period.
    package static func mediaType(_ detail: String) -> HTTPError { HTTPError(.unsupportedMediaType, "http.mediaType", detail) }

    /// 413 `request.too-large`: the body is too long.
    ///
    /// - Parameter limit: the most bytes of a body.
    package static func bodyTooLarge(limit: Int) -> HTTPError {
        HTTPError(.contentTooLarge, "http.bodyTooLarge", "the body is larger than \(limit) bytes")
    }
}
