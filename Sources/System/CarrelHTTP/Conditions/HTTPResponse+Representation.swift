// SPDX-License-Identifier: Apache-2.0

internal import CarrelBytes

extension HTTPResponse {
    /// Responds to GET or HEAD with a representation, with the requested part of it, or with 304.
    ///
    /// Preconditions come first, in the order of RFC 9110 §13.2.2, then ranges (§14.2). HEAD is treated like GET, also with a
    /// range, because players use it to request the length.
    ///
    /// - Parameters:
    ///   - representation: the representation.
    ///   - request: the request.
    ///   - headers: more fields, such as `Cache-Control`; they are sent with 304 too.
    ///   - isCompressible: whether a server may compress the whole.
    /// - Returns: 200, 206, 304, 412 or 416.
    public static func serving(
        _ representation: Representation,
        for request: HTTPRequest,
        headers: HTTPFields = [:],
        isCompressible: Bool = false
    ) -> HTTPResponse {
        var fields = headers
        let tag = representation.etag.flatMap { EntityTag(parsing: $0) }
        if let tag { fields["ETag"] = tag.description }
        if let date = representation.lastModified { fields["Last-Modified"] = date.httpDate }
        switch Preconditions(tag: tag, lastModified: representation.lastModified).evaluate(request) {
        case .failed:
            return HTTPError(.preconditionFailed, "http.precondition", "it has changed", headers: headers)
                .response(requestID: request.id)
        case .notModified:
            return HTTPResponse(.notModified, headers: fields, isCompressible: isCompressible)
        case .proceed(let useRange):
            fields["Accept-Ranges"] = "bytes"
            guard useRange, let ranges = request.headers["Range"].flatMap({ ByteRanges(parsing: $0) }) else {
                fields["Content-Type"] = representation.contentType
                let body: ResponseBody = representation.length == 0 ? .empty : representation.body(0..<representation.length)
                return HTTPResponse(.ok, headers: fields, body: body, isCompressible: isCompressible)
            }
            return partial(representation, ranges, for: request, fields)
        }
    }

    private static func partial(
        _ representation: Representation,
        _ ranges: ByteRanges,
        for request: HTTPRequest,
        _ headers: HTTPFields
    ) -> HTTPResponse {
        var fields = headers
        let length = representation.length
        let isTooMuch = ranges.specs.count > representation.maximumParts
        let parts = isTooMuch ? [] : ranges.resolve(length: length)
        switch parts.count {
        case 0:
            fields = ["Content-Range": "bytes */\(length)"]
            let problem =
                isTooMuch ? "there are more than \(representation.maximumParts) ranges" : "there is nothing in that range"
            return HTTPError(.rangeNotSatisfiable, "http.range", problem, headers: fields)
                .response(requestID: request.id)
        case 1:
            fields["Content-Type"] = representation.contentType
            fields["Content-Range"] = "bytes \(parts[0].lowerBound)-\(parts[0].upperBound - 1)/\(length)"
            return HTTPResponse(.partialContent, headers: fields, body: representation.body(parts[0]))
        default:
            var random = SystemRandomNumberGenerator()
            let boundary = "carrel" + String(random.next(), radix: 36) + String(random.next(), radix: 36)
            fields["Content-Type"] = "multipart/byteranges; boundary=\(boundary)"
            var bodies: [ResponseBody] = []
            for part in parts {
                let head = """
                    \(bodies.isEmpty ? "" : "\r\n")--\(boundary)\r
                    Content-Type: \(representation.contentType)\r
                    Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)\r
                    \r

                    """
                bodies.append(.bytes(Array(head.utf8)))
                bodies.append(representation.body(part))
            }
            bodies.append(.bytes(Array("\r\n--\(boundary)--\r\n".utf8)))
            return HTTPResponse(.partialContent, headers: fields, body: .joined(bodies))
        }
    }
}
