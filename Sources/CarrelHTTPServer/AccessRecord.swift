public import CarrelBytes
public import CarrelHTTP

/// What the access log says about one request. Query values, header fields and secret path parameters are not in it.
public struct AccessRecord: Sendable {
    /// When the request's line had come.
    public let time: Instant
    public let id: String
    public let peer: Peer
    /// The method as sent.
    public let method: String
    /// The route's pattern; nil when there was none, or when the request was refused before routing.
    public let route: String?
    /// The path with `*` for secret parameters; `-` when no route knows it.
    public let path: String
    /// 499 when the client hung up before the answer, 400 when the parser refused the request before we saw it.
    public let status: HTTPStatus
    /// Bytes of the body that were handed to the kernel or made for it.
    public let bytes: Int
    /// From the request's line to the last byte handed to the kernel.
    public let duration: Duration
    /// Whether the response left whole.
    public let isWhole: Bool

    /// The record as one line of JSON, without the line feed.
    public var json: String {
        var text = "{\"time\":\"\(time)\",\"id\":\(Self.quoted(id)),\"peer\":\(Self.quoted(peer.description)),"
        text += "\"method\":\(Self.quoted(method)),\"path\":\(Self.quoted(path)),\"route\":\(route.map(Self.quoted) ?? "null"),"
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        let fraction = String(microseconds % 1000)
        let padded = String(repeating: "0", count: 3 - fraction.utf8.count) + fraction
        text += "\"status\":\(status.rawValue),\"bytes\":\(bytes),\"ms\":\(microseconds / 1000).\(padded)"
        return text + (isWhole ? "}" : ",\"whole\":false}")
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for c in text.unicodeScalars {
            switch c {
            case "\"", "\\": out += "\\\(c)"
            case "\u{0}"..."\u{1f}", "\u{7f}": out += "?"
            default: out.unicodeScalars.append(c)
            }
        }
        return out + "\""
    }
}
