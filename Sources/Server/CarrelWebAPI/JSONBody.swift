// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelJSON

/// The JSON body of a request to Carrel's own API.
package enum JSONBody {
    /// Parses the object in the body.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - limit: the maximum size of the body in bytes.
    ///   - values: the maximum number of values in it, including arrays and objects: each takes many times its bytes in memory.
    /// - Returns: the object.
    /// - Throws: 400 unless it is a JSON object within the limit of values, 413 for more than `limit` bytes, 415 for another
    ///   content type.
    package static func object(of request: HTTPRequest, limit: Int, values: Int = usualValues) async throws -> JSONObject {
        guard let object = try await value(of: request, limit: limit, values: values).object else {
            throw ServerError(.invalid, "the body must be a JSON object")
        }
        return object
    }

    /// Values in a body that holds no long list.
    private static let usualValues = 2000

    /// Parses the value in the body.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - limit: the maximum size of the body in bytes.
    ///   - values: the maximum number of values in it.
    ///   - isFromApps: whether existing apps send it: `text/json` and a byte order mark are accepted too.
    /// - Returns: the value.
    /// - Throws: 400 unless it is JSON, 413 for more than `limit` bytes, 415 for another content type.
    package static func value(of request: HTTPRequest, limit: Int, values: Int = usualValues, isFromApps: Bool = false)
        async throws -> JSON
    {
        if let type = request.headers["Content-Type"]?.lowercased(),
            !type.hasPrefix("application/json"), !(isFromApps && request.contentType == "text/json")
        {
            throw HTTPError(.unsupportedMediaType, "request.media-type", "the body must be application/json")
        }
        let bytes = try await request.body.collect(upTo: limit)
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let start = isFromApps && bytes.starts(with: mark) ? mark.count : 0
        do {
            return try JSON.parse(bytes.rawSpan.extracting(droppingFirst: start), limits: JSONLimits(values: values))
        } catch {
            throw ServerError(.invalid, "the body is not JSON: \(error)")
        }
    }
}

extension JSONObject {
    /// Refuses members outside the list: a misspelled member should not be ignored.
    package func allowOnly(_ names: Set<String>) throws(ServerError) {
        for (name, _) in self where !names.contains(name) {
            throw ServerError(.invalid, "the body has an unknown member \"\(name.prefix(64))\"")
        }
    }

    /// The text of a member; nil if it is absent or null. U+0000, which no database keeps, is refused.
    package func string(_ name: String) throws(ServerError) -> String? {
        guard let value = self[name], value != .null else { return nil }
        guard let text = value.string else { throw ServerError(.invalid, "\(name) must be a string") }
        guard !text.utf8.contains(0) else { throw ServerError(.invalid, "\(name) contains the character U+0000") }
        return text
    }

    package func requiredString(_ name: String) throws(ServerError) -> String {
        guard let text = try string(name) else { throw ServerError(.invalid, "\(name) is missing") }
        return text
    }

    package func instant(_ name: String) throws(ServerError) -> Instant? {
        guard let text = try string(name) else { return nil }
        guard let instant = Instant.parse(text) else {
            throw ServerError(.invalid, "\(name) must be an instant such as 2026-01-31T18:00:00Z")
        }
        return instant
    }

    /// A whole number from 0; nil if it is absent or null.
    package func count(_ name: String) throws(ServerError) -> Int? {
        guard let value = self[name], value != .null else { return nil }
        guard let number = value.int, number >= 0 else { throw ServerError(.invalid, "\(name) must be a whole number") }
        return number
    }

    /// A truth value; nil if it is absent or null.
    package func flag(_ name: String) throws(ServerError) -> Bool? {
        guard let value = self[name], value != .null else { return nil }
        guard let flag = value.bool else { throw ServerError(.invalid, "\(name) must be true or false") }
        return flag
    }

    /// A list of texts; nil if it is absent or null.
    package func strings(_ name: String, limit: Int = 1000) throws(ServerError) -> [String]? {
        guard let value = self[name], value != .null else { return nil }
        guard let strings = value.array?.map(\.string), strings.count <= limit, !strings.contains(nil) else {
            throw ServerError(.invalid, "\(name) must be an array of strings")
        }
        return strings.compactMap(\.self)
    }

    package func number(_ name: String) throws(ServerError) -> Double? {
        guard let value = self[name], value != .null else { return nil }
        guard let number = value.double else { throw ServerError(.invalid, "\(name) must be a number") }
        return number
    }
}

extension JSON {
    package init(_ text: String?) { self = text.map { .string($0) } ?? .null }

    package init(_ instant: Instant?) { self = instant.map { .string($0.description) } ?? .null }

    /// Seconds with the precision of a millisecond.
    package static func seconds(milliseconds: Int64) -> JSON { .number(JSONNumber(Double(milliseconds) / 1000)) }
}

extension HTTPResponse {
    package static func json(_ value: JSON, status: HTTPStatus = .ok) -> HTTPResponse {
        var response = HTTPResponse.json(value.write())
        response.status = status
        response.headers.setDefault("Cache-Control", "no-store")
        return response
    }

    /// The response marked as not cacheable: it contains a secret or personal data.
    package var unstored: HTTPResponse {
        var response = self
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}

extension Query {
    /// A whole number in `range`; nil if it is absent.
    package func integer(_ name: String, in range: ClosedRange<Int>) throws(ServerError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw ServerError(.invalid, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// A number in `range`; nil if it is absent.
    package func number(_ name: String, in range: ClosedRange<Double>) throws(ServerError) -> Double? {
        guard let text = self[name] else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw ServerError(.invalid, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

}
