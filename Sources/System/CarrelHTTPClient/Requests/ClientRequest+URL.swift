// SPDX-License-Identifier: Apache-2.0

extension ClientRequest {
    /// The URL, fit to be shown.
    var urlWithoutCredentials: String {
        get throws(HTTPClientError) {
            guard url.utf8.contains(UInt8(ascii: "@")) else { return url }
            var parts = try CurlURL(url)
            parts.removeCredentials()
            return parts.text
        }
    }
}
