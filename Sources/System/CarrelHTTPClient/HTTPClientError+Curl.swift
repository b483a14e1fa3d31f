// SPDX-License-Identifier: Apache-2.0

import CCurl
import CarrelHTTP

extension HTTPClientError {
    /// The error of the caller for a result of libcurl.
    init(_ result: CURLcode, _ easy: EasyHandle, _ request: ClientRequest, _ startTime: ContinuousClock.Instant) {
        switch result {
        case CURLE_URL_MALFORMAT:
            self.init(.url, "the URL is not an absolute http or https URL")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.resolve, "the host has no address")
        case CURLE_COULDNT_CONNECT:
            self.init(.refused, "no connection could be made to \(Self.place(of: request))")
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.timeout, Self.timeoutText(easy, request, startTime))
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            // libcurl's words name the host and the reason, no more
            self.init(.tls, "no trusted connection: \(easy.errorText)")
            guard result == CURLE_PEER_FAILED_VERIFICATION else { return }
            // OpenSSL's result is of the chain alone (X509_V_…). libcurl checks the name first, and leaves 1, unspecified, if the
            // name differs.
            certificateProblem = easy.long(CURLINFO_SSL_VERIFYRESULT) <= 1 ? .otherHost : .untrusted
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            // the URL's scheme was checked before, so it is the server's words that are not understood
            self.init(.head, "the response does not begin as HTTP does")
        case CURLE_BAD_CONTENT_ENCODING:
            self.init(.interrupted, "the response's compression is damaged")
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_SEND_FAIL_REWIND:
            self.init(.interrupted, "the connection broke in the middle")
        default:
            let words = unsafe String(cString: curl_easy_strerror(result))
            self.init(.failed, "libcurl failed with \(result.rawValue) (\(words))")
        }
    }

    /// Host and port, without user name and password.
    private static func place(of request: ClientRequest) -> String {
        if request.unixSocketPath != nil { return "the server's Unix socket" }
        guard let url = try? CurlURL(request.url) else { return "the server" }
        return url.authority
    }

    private static func timeoutText(
        _ easy: EasyHandle,
        _ request: ClientRequest,
        _ startTime: ContinuousClock.Instant
    ) -> String {
        if startTime.duration(to: .now) >= request.timeouts.total { return "no whole response within \(request.timeouts.total)" }
        if easy.size(CURLINFO_PRETRANSFER_TIME_T) == 0 { return "no connection within \(request.timeouts.connect)" }
        return "no progress within \(request.timeouts.stall)"
    }
}
