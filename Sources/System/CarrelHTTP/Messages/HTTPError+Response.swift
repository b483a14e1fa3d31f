// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension HTTPError {
    /// The error as `application/problem+json`, with the request's id so that a person can name it.
    ///
    /// - Parameter requestID: the id of the request; an empty id is left out.
    /// - Returns: the response.
    public func response(requestID: String) -> HTTPResponse {
        var text = "{"
        func add(_ name: String, _ value: String) {
            if text.utf8.count > 1 { text += "," }
            text += "\(Self.quoted(name)):\(value)"
        }
        add("type", Self.quoted(type))
        add("title", Self.quoted(title ?? status.reason))
        add("status", String(status.rawValue))
        if let detail { add("detail", Self.quoted(detail)) }
        add("code", Self.quoted(code.identifier))
        if let alias { add("alias", Self.quoted(alias)) }
        for (name, value) in extra {
            switch value {
            case .text(let text): add(name, Self.quoted(text))
            case .number(let number): add(name, String(number))
            }
        }
        if !requestID.isEmpty { add("requestId", Self.quoted(requestID)) }
        text += "}\n"
        var response = HTTPResponse(status, headers: headers, body: .bytes(Array(text.utf8)))
        response.headers["Content-Type"] = "application/problem+json"
        response.headers.setDefault("Cache-Control", "no-store")
        return response
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\u{0}"..."\u{1f}":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
