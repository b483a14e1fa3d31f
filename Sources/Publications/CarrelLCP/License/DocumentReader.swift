// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// Reads the members of a license or status document, and reports which member is missing or wrong.
struct DocumentReader {
    let object: JSONObject
    private let name: String
    private let code: LCPError.Code

    init(_ object: JSONObject, _ name: String, _ code: LCPError.Code) {
        self.object = object
        self.name = name
        self.code = code
    }

    func member(_ member: String) throws(LCPError) -> DocumentReader {
        guard let reader = try memberIfPresent(member) else { throw wrong(member, "an object") }
        return reader
    }

    func memberIfPresent(_ member: String) throws(LCPError) -> DocumentReader? {
        guard let value = object[member], !value.isNull else { return nil }
        guard let inner = value.object else { throw wrong(member, "an object") }
        return DocumentReader(inner, name, code)
    }

    func text(_ member: String) throws(LCPError) -> String {
        guard let text = object[member]?.string, !text.isEmpty else { throw wrong(member, "a text") }
        return text
    }

    func instant(_ member: String) throws(LCPError) -> Instant {
        guard let instant = try instantIfPresent(member) else { throw wrong(member, "a time") }
        return instant
    }

    func instantIfPresent(_ member: String) throws(LCPError) -> Instant? {
        guard let value = object[member], !value.isNull else { return nil }
        guard let instant = value.string.flatMap({ Instant.parse($0) }) else { throw wrong(member, "a time") }
        return instant
    }

    /// A limit is never skipped: a count that cannot be read is an error, not the lack of a limit.
    func countIfPresent(_ member: String) throws(LCPError) -> Int? {
        guard let value = object[member], !value.isNull else { return nil }
        guard let count = value.int else { throw wrong(member, "a whole number") }
        return count
    }

    /// White space in base 64 is passed over.
    func base64(_ member: String) throws(LCPError) -> [UInt8] {
        let text = try text(member).filter { !$0.isWhitespace }
        guard let bytes = Base64.decode(text) else { throw wrong(member, "base 64") }
        return bytes
    }

    private func wrong(_ member: String, _ kind: String) -> LCPError {
        LCPError(code, "the \(name)'s \"\(member)\" is missing or is not \(kind)")
    }
}
