// SPDX-License-Identifier: Apache-2.0

import CCurl

/// libcurl's view of a URL, so that decisions apply to the URL that it will use.
@safe
struct CurlURL: ~Copyable {
    private let raw: OpaquePointer

    init(_ text: String) throws(HTTPClientError) {
        guard let raw = unsafe curl_url() else { throw HTTPClientError(.failed, "there is no memory for a URL") }
        guard unsafe curl_url_set(raw, CURLUPART_URL, text, Self.flags) == CURLUE_OK else {
            unsafe curl_url_cleanup(raw)
            throw HTTPClientError(.url, "the URL is not an absolute http or https URL")
        }
        unsafe self.raw = unsafe raw
    }

    deinit {
        unsafe curl_url_cleanup(raw)
    }

    private static let flags = UInt32(CURLU_PATH_AS_IS)

    /// Resolves a reference against this URL, dots resolved (RFC 3986 §5.2).
    mutating func follow(_ reference: String) -> Bool {
        unsafe curl_url_set(raw, CURLUPART_URL, reference, 0) == CURLUE_OK
    }

    /// Scheme, host and port (RFC 6454 §4).
    var origin: String { "\(scheme)://\(authority)" }

    /// Host and port.
    var authority: String { "\(part(CURLUPART_HOST).lowercased()):\(part(CURLUPART_PORT, CURLU_DEFAULT_PORT))" }

    var scheme: String { part(CURLUPART_SCHEME) }

    var text: String { part(CURLUPART_URL) }

    /// Removes user name and password.
    mutating func removeCredentials() {
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS] { unsafe curl_url_set(raw, part, nil, 0) }
    }

    private func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(raw, part, &text, UInt32(flags)) == CURLUE_OK, let text = unsafe text else { return "" }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}
