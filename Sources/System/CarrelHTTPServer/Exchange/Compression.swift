// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelZlib

/// Compresses what may be compressed for clients that take it (RFC 9110 §8.4).
enum Compression {
    /// Below this, compressing costs more than it saves.
    private static let smallest = 1024

    static func apply(to response: HTTPResponse, for request: HTTPRequest) -> HTTPResponse {
        guard response.isCompressible else { return response }
        var response = response
        let status = response.status
        guard status != .partialContent, response.headers["Content-Encoding"] == nil else { return response }
        if status == .notModified {
            response.addVary()
            return response
        }
        guard case .bytes(let bytes) = response.body, bytes.count > smallest else { return response }
        response.addVary()
        guard QualityList.takesGzip(request.headers.list("Accept-Encoding")), let small = Gzip.compress(bytes) else {
            return response
        }
        response.body = .bytes(small)
        response.headers["Content-Encoding"] = "gzip"
        // These bytes are not those that the tag and the ranges are about.
        response.headers["Accept-Ranges"] = nil
        if let tag = response.headers["ETag"], !tag.hasPrefix("W/") { response.headers["ETag"] = "W/" + tag }
        return response
    }
}

extension HTTPResponse {
    fileprivate mutating func addVary() {
        guard let vary = headers.list("Vary") else {
            headers["Vary"] = "Accept-Encoding"
            return
        }
        if vary != "*", !vary.lowercased().contains("accept-encoding") { headers["Vary"] = vary + ", Accept-Encoding" }
    }
}
