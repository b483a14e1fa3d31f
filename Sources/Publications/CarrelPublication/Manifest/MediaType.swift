// SPDX-License-Identifier: Apache-2.0

/// A media type (RFC 6838) with its parameters, such as `text/html;charset=utf-8`.
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// In lower case, such as `application`.
    public var type: String { parts.type }
    /// In lower case, such as `epub+zip`.
    public var subtype: String { parts.subtype }
    /// Names in lower case, in the order of the text.
    public var parameters: [Parameter] { parts.parameters }

    /// A publication has tens of thousands of links with the same type, which share it.
    private let parts: Parts

    /// Shared by copies.
    private final class Parts: Sendable, Hashable {
        let type: String
        let subtype: String
        let parameters: [Parameter]

        init(type: String, subtype: String, parameters: [Parameter]) {
            self.type = type
            self.subtype = subtype
            self.parameters = parameters
        }

        static func == (a: Parts, b: Parts) -> Bool {
            a === b || a.type == b.type && a.subtype == b.subtype && a.parameters == b.parameters
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(type)
            hasher.combine(subtype)
            hasher.combine(parameters)
        }
    }

    /// A parameter, such as `charset=utf-8`.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value without its quotation marks.
        public let value: String
    }

    /// Parses a media type.
    ///
    /// - Parameter text: such as `audio/mpeg` or `text/html; charset="utf-8"`. Nil if it is none.
    public init?(_ text: some StringProtocol) {
        var parts = text.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        let names = parts.removeFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy(Self.isToken) else { return nil }
        var parameters: [Parameter] = []
        for part in parts where !part.isEmpty {
            guard let equals = part.firstIndex(of: "=") else { return nil }
            let name = Self.trimmed(part[..<equals])
            var value = Self.trimmed(part[part.index(after: equals)...])
            if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
            guard Self.isToken(name) else { return nil }
            parameters.append(Parameter(name: name.lowercased(), value: String(value)))
        }
        self.parts = Parts(type: names[0].lowercased(), subtype: names[1].lowercased(), parameters: parameters)
    }

    /// A media type from a literal in the program; traps if it is invalid.
    init(known text: String) {
        guard let type = MediaType(text) else { preconditionFailure("\(text) is not a media type") }
        self = type
    }

    /// Type and subtype without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// Whether both mean the same kind of content: parameters do not count.
    ///
    /// - Parameter other: another media type, or nil.
    /// - Returns: true if type and subtype are equal.
    public func matches(_ other: MediaType?) -> Bool { essence == other?.essence }

    public var description: String {
        parameters.reduce(essence) { "\($0);\($1.name)=\(Self.isToken($1.value[...]) ? $1.value : "\"\($1.value)\"")" }
    }

    /// Whether the type is `audio/…`.
    public var isAudio: Bool { type == "audio" }
    /// Whether the type is `video/…`.
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
