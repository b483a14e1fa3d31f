// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The part of URI templates (RFC 6570) that status documents use: `{id}`, `{?id,name}`, `{&end}`.
enum URITemplate {
    /// The address, with variables that have no value left out.
    static func expand(_ template: String, _ values: [String: String]) -> String {
        var out = ""
        // a flag, because searching the whole output each time would take quadratic time
        var hasQuery = false
        func add(_ piece: some StringProtocol) {
            out += piece
            hasQuery = hasQuery || piece.contains("?")
        }
        var remainder = template[...]
        while let open = remainder.firstIndex(of: "{"), let close = remainder[open...].firstIndex(of: "}") {
            add(remainder[..<open])
            add(expression(remainder[remainder.index(after: open)..<close], values, hasQuery: hasQuery))
            remainder = remainder[remainder.index(after: close)...]
        }
        return out + remainder
    }

    private static func expression(_ text: Substring, _ values: [String: String], hasQuery: Bool) -> String {
        let isQuery = text.hasPrefix("?") || text.hasPrefix("&")
        let names = (isQuery ? text.dropFirst() : text).split(separator: ",")
        let parts = names.compactMap { name in
            values[String(name)].map { isQuery ? "\(name)=\(PercentEncoding.encode($0))" : PercentEncoding.encode($0) }
        }
        guard isQuery, !parts.isEmpty else { return parts.joined(separator: ",") }
        return (hasQuery ? "&" : "?") + parts.joined(separator: "&")
    }
}
