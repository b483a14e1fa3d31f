/// A media type (RFC 6838) with its parameters, such as `text/html;charset=utf-8`.
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// In lower case, such as `application`.
    public let type: String
    /// In lower case, such as `epub+zip`.
    public let subtype: String
    /// Names in lower case, in the order of the text.
    public let parameters: [Parameter]

    public struct Parameter: Sendable, Hashable {
        public let name: String
        public let value: String
    }

    /// - Parameter text: such as `audio/mpeg` or `text/html; charset="utf-8"`. Nil when it is none.
    public init?(_ text: some StringProtocol) {
        var parts = text.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        let names = parts.removeFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy(Self.isToken) else { return nil }
        type = names[0].lowercased()
        subtype = names[1].lowercased()
        var parameters: [Parameter] = []
        for part in parts where !part.isEmpty {
            guard let equals = part.firstIndex(of: "=") else { return nil }
            let name = Self.trimmed(part[..<equals])
            var value = Self.trimmed(part[part.index(after: equals)...])
            if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
            guard Self.isToken(name) else { return nil }
            parameters.append(Parameter(name: name.lowercased(), value: String(value)))
        }
        self.parameters = parameters
    }

    /// Type and subtype without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// Whether both mean the same kind of content: parameters do not count.
    public func matches(_ other: MediaType?) -> Bool { essence == other?.essence }

    public var description: String {
        parameters.reduce(essence) { "\($0);\($1.name)=\(Self.isToken($1.value[...]) ? $1.value : "\"\($1.value)\"")" }
    }

    public var isAudio: Bool { type == "audio" }
    public var isVideo: Bool { type == "video" }
    /// An image that browsers show: no PSD, no TIFF.
    public var isBitmap: Bool { type == "image" && Self.bitmaps.contains(subtype) }
    /// HTML or XHTML.
    public var isHTML: Bool { self.essence == "text/html" || self.essence == "application/xhtml+xml" }

    private static let bitmaps: Set<String> = ["avif", "bmp", "gif", "jpeg", "jxl", "png", "tiff", "webp"]

    private static func trimmed(_ text: some StringProtocol) -> Substring {
        var text = Substring(text)
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
    }
}
