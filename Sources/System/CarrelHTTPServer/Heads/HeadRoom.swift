// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The limits of a request's head, and the room that it leaves for the head of its response.
///
/// libmicrohttpd (0.9.75) keeps the head, a record for each header field and cookie, a copy of the cookies, and the head of the response in
/// the same memory of the connection.
enum HeadRoom {
    /// The most parameters of a query, empty ones included.
    static let parameters = 150
    /// The bytes of a record.
    private static let record = 64
    /// The bytes that every response can have for its head.
    private static let response = 512

    /// Checks a request's head.
    ///
    /// - Parameters:
    ///   - target: the target as sent.
    ///   - fields: the header fields.
    ///   - byteCount: the head's bytes, from the method to the end of the empty line.
    /// - Throws: 414 for more parameters than ``parameters``; 414 or 431 for a head that leaves too little room.
    static func check(target: String, _ fields: HTTPFields, byteCount: Int) throws(HTTPError) {
        var (parameters, isQuery) = (0, false)
        for byte in target.utf8 {
            if isQuery {
                if byte == UInt8(ascii: "&") { parameters += 1 }
            } else if byte == UInt8(ascii: "?") {
                (parameters, isQuery) = (1, true)
            }
        }
        guard parameters <= Self.parameters else {
            throw HTTPError(.uriTooLong, "request.uri-too-long", "the query has more than \(Self.parameters) parameters")
        }
        var used = byteCount
        for field in fields {
            used += record
            guard HTTPFields.same(field.name, "Cookie") else { continue }
            used += field.value.utf8.count + 1 + record * (1 + field.value.utf8.count { $0 == UInt8(ascii: ";") })
        }
        guard used > ServerConfiguration.headerBytes - response else { return }
        guard target.utf8.count > used / 2 else {
            throw HTTPError(
                .headerFieldsTooLarge,
                "request.fields-too-large",
                "the header fields are too long: send fewer of them"
            )
        }
        throw HTTPError(.uriTooLong, "request.uri-too-long", "the request's target is too long")
    }
}
