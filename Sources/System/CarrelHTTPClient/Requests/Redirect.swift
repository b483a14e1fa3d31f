// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// Following redirects (RFC 9110 §15.4).
enum Redirect {
    static func leads(_ status: HTTPStatus, _ headers: HTTPFields) -> Bool {
        [301, 302, 303, 307, 308].contains(status.rawValue) && headers["Location"] != nil
    }

    /// Fields that may go to an origin that the request was not made for; all others could be secrets.
    private static let harmless: Set<String> = [
        "accept", "accept-encoding", "accept-language", "content-encoding", "content-language", "content-type", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range", "user-agent",
    ]

    /// The request that follows the redirect `response`.
    static func next(_ request: ClientRequest, after response: ClientResponse) throws(HTTPClientError) -> ClientRequest {
        var next = request
        var url = try CurlURL(request.url)
        let (origin, scheme) = (url.origin, url.scheme)
        guard let location = response.headers["Location"], url.follow(location), ["http", "https"].contains(url.scheme) else {
            throw HTTPClientError(.redirect, "the redirect leads to no http or https URL")
        }
        if scheme == "https", url.scheme == "http" {
            throw HTTPClientError(.redirect, "the redirect leads away from https")
        }
        if url.origin != origin {
            if url.scheme == "http", !request.allowsPlainRedirects {
                throw HTTPClientError(.redirect, "the redirect leads to an http URL of another origin")
            }
            if request.unixSocketPath != nil {
                throw HTTPClientError(.redirect, "the redirect leads away from the Unix socket's server")
            }
            next.headers = filter(next.headers) { harmless.contains($0) }
        }
        next.url = url.text
        next.maxRedirects -= 1
        let dropsBody =
            response.status == .seeOther
            ? request.method != .head && request.method != .get
            : request.method == .post && [301, 302].contains(response.status.rawValue)
        if dropsBody {
            next.method = .get
            next.body = .none
            next.headers = filter(next.headers) { !$0.hasPrefix("content-") }
        } else if case .stream = request.body {
            throw HTTPClientError(.redirect, "the redirect asks for a body again that can be sent only once")
        }
        return next
    }

    private static func filter(_ fields: HTTPFields, _ isKept: (String) -> Bool) -> HTTPFields {
        var out: HTTPFields = [:]
        for field in fields where isKept(field.name.lowercased()) { out.append(field.name, field.value) }
        return out
    }
}
