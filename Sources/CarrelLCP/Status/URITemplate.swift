import CarrelHTTP

/// The part of URI templates (RFC 6570) that status documents use: `{id}`, `{?id,name}`, `{&end}`.
enum URITemplate {
    /// The address, with variables that have no value left out.
    static func expand(_ template: String, _ values: [String: String]) -> String {
        var out = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            out += rest[..<open]
            out += expression(rest[rest.index(after: open)..<close], values, hasQuery: out.contains("?"))
            rest = rest[rest.index(after: close)...]
        }
        return out + rest
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
