// SPDX-License-Identifier: Apache-2.0

/// Codes of earlier versions. Problem documents have them as aliases until the next major version.
enum RenamedCodes {
    /// The code of today, by the one of earlier versions.
    static let replacements = [
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
        uniqueKeysWithValues: replacements.lazy.filter { !$0.value.hasPrefix("request.") }.map { ($0.value, $0.key) }
    )
}
