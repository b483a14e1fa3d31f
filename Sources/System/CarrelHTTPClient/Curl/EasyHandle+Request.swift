// SPDX-License-Identifier: Apache-2.0

import CCurl
import CarrelBytes
import CarrelHTTP
import Glibc

extension EasyHandle {
    /// Sets everything that the request and the client's configuration say.
    func configure(_ request: ClientRequest, _ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        try setTarget(request, configuration)
        try setMethod(request)
        try setFields(request, configuration)
        setLimits(request.timeouts)
        try setTrust(configuration, isEncrypted: request.url.prefix(8).lowercased() == "https://")
        set(CURLOPT_NOSIGNAL, true)
        // a resolver thread that is still busy when a request is cancelled is left to end by itself
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
    }

    private func setTarget(_ request: ClientRequest, _ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        let malformed = HTTPClientError(.url, "the URL is not an absolute http or https URL")
        let scheme = request.url.prefix(8).lowercased()
        let host = request.url.dropFirst(scheme == "https://" ? 8 : 7).first
        guard scheme.hasPrefix("http://") || scheme == "https://", let host, !"/?#".contains(host),
            request.url.utf8.count <= 16 << 10,
            request.url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }), set(CURLOPT_URL, request.url)
        else { throw malformed }
        set(CURLOPT_PATH_AS_IS, true)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        if let path = request.unixSocketPath {
            guard (request.addresses ?? configuration.addresses).isAny else {
                throw HTTPClientError(.address, "connecting to a Unix socket is not allowed")
            }
            guard !path.utf8.contains(0), path.utf8.count < 108, set(CURLOPT_UNIX_SOCKET_PATH, path) else {
                throw HTTPClientError(.url, "the path of the Unix socket is too long")
            }
        }
        setProxy(configuration, request.addresses ?? configuration.addresses)
    }

    private func setProxy(_ configuration: HTTPClientConfiguration, _ addresses: AddressRule) {
        guard configuration.usesEnvironmentProxy, addresses.isAny else {
            set(CURLOPT_PROXY, "")
            return
        }
        let exempt = ["no_proxy", "NO_PROXY"].compactMap { (name: String) -> String? in
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        if exempt.first == "*" {
            set(CURLOPT_PROXY, "")
        } else {
            set(CURLOPT_NOPROXY, (exempt.prefix(1) + ["localhost", "127.0.0.0/8", "::1"]).joined(separator: ","))
        }
    }

    private func setMethod(_ request: ClientRequest) throws(HTTPClientError) {
        guard Token.isValid(request.method.rawValue) else {
            throw HTTPClientError(.header, "the method is not a token")
        }
        var sends = true
        if case .none = request.body { sends = [.post, .put, .patch].contains(request.method) }
        if request.method == .head {
            set(CURLOPT_NOBODY, true)
        } else if sends {
            set(CURLOPT_UPLOAD, true)
            let length: Int64? =
                switch request.body {
                case .none: 0
                case .bytes(let bytes): Int64(bytes.count)
                case .file(_, let range): range.upperBound - range.lowerBound
                case .stream(let length, _): length
                }
            set(CURLOPT_INFILESIZE_LARGE, size: length ?? -1)
        } else {
            set(CURLOPT_HTTPGET, true)
        }
        set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }

    private func setFields(_ request: ClientRequest, _ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        var fields = request.headers
        if let range = request.range { fields["Range"] = range.fieldValue }
        fields.setDefault("User-Agent", configuration.userAgent)
        var added = true
        for field in fields {
            guard Token.isValid(field.name), Token.isValidFieldValue(field.value),
                !["content-length", "transfer-encoding"].contains(field.name.lowercased())
            else { throw HTTPClientError(.header, "a field to send has a bad name or value, or is not the caller's to send") }
            let isBlank = field.value.allSatisfy { $0 == " " || $0 == "\t" }
            added = addField(line: isBlank ? "\(field.name);" : "\(field.name): \(field.value)") && added
        }
        // without this libcurl waits up to a second for 100 Continue before it sends a large body
        if fields["Expect"] == nil { added = addField(line: "Expect:") && added }
        guard added else { throw HTTPClientError(.failed, "there is no memory for the fields") }
        if request.acceptsCompression, request.range == nil { set(CURLOPT_ACCEPT_ENCODING, "") }
    }

    private func setLimits(_ timeouts: ClientTimeouts) {
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(timeouts.connect))
        set(CURLOPT_TIMEOUT_MS, Self.milliseconds(timeouts.total))
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, max(1, (Self.milliseconds(timeouts.stall) + 999) / 1000))
    }

    /// At least 1, because 0 means "forever" to libcurl.
    static func milliseconds(_ duration: Duration) -> Int {
        Int(min(max(1, duration / .milliseconds(1)), 1e9))
    }

    private func setTrust(_ configuration: HTTPClientConfiguration, isEncrypted: Bool) throws(HTTPClientError) {
        set(CURLOPT_SSL_VERIFYPEER, !configuration.acceptsAnyCertificateForTesting)
        set(CURLOPT_SSL_VERIFYHOST, configuration.acceptsOtherHostsForTesting ? 0 : 2)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        if !configuration.trustedRoots.isEmpty {
            let pem = configuration.trustedRoots.map(Self.pem).joined()
            guard set(CURLOPT_CAINFO_BLOB, bytes: Array(pem.utf8)), set(CURLOPT_CAINFO, nil), set(CURLOPT_CAPATH, nil) else {
                throw HTTPClientError(.tls, "the roots to trust cannot be set")
            }
        } else if let file = configuration.certificateAuthorities {
            set(CURLOPT_CAINFO, file)
            set(CURLOPT_CAPATH, nil)
        }
        set(CURLOPT_HTTP_VERSION, configuration.allowsHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        // requests to one host wait for its first connection, to learn whether they can share it
        set(CURLOPT_PIPEWAIT, configuration.allowsHTTP2 && isEncrypted)
    }

    /// A certificate as text, lines of 64 characters (RFC 7468 §5).
    private static func pem(_ der: [UInt8]) -> String {
        let text = Array(Base64.encode(der).utf8)
        let lines = stride(from: 0, to: text.count, by: 64).map { String(decoding: text[$0...].prefix(64), as: UTF8.self) }
        return "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
    }
}

extension EasyHandle {
    /// Sends the lines, and sends everything that happens to `transfer`, which must outlive the handle's use.
    func connect(to transfer: Transfer) {
        unsafe ccurl_set_pointer(raw, CURLOPT_HTTPHEADER, fields)
        unsafe ccurl_set_pointer(raw, CURLOPT_ERRORBUFFER, errorBuffer)
        unsafe ccurl_set_callbacks(
            raw,
            Unmanaged.passUnretained(transfer).toOpaque(),
            receiveHeadLine,
            receiveBody,
            provideBody,
            rewindBody,
            openSocket,
            transfer.judgesConnections ? judgeConnection : nil
        )
    }
}
