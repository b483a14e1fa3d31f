// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// An element of an HTML document that embeds media by its address.
struct MediaElement: Sendable, Equatable {
    enum Kind: Sendable { case image, audio, video }

    let kind: Kind
    /// As the document has it, relative to the document.
    let address: String
    /// The text of `alt`; nil if missing.
    let description: String?

    /// - Parameters:
    ///   - name: the element's name in lower case.
    ///   - tag: the text between `<` and `>`. Nil for other elements, and for elements without an address.
    init?(_ name: String, _ tag: ArraySlice<Unicode.Scalar>) {
        switch name {
        case "img", "image", "svg:image": kind = .image
        case "audio": kind = .audio
        case "video": kind = .video
        default: return nil
        }
        let attributes = Self.attributes(tag)
        guard let address = attributes["src"] ?? attributes["xlink:href"] ?? attributes["href"], !address.isEmpty else {
            return nil
        }
        self.address = address
        description = attributes["alt"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The attributes of a start tag, by lower-case name; the first of two with the same name counts.
    private static func attributes(_ tag: ArraySlice<Unicode.Scalar>) -> [String: String] {
        var found: [String: String] = [:]
        var rest = tag.drop { !$0.properties.isWhitespace }
        func skip(_ isSkipped: (Unicode.Scalar) -> Bool) -> ArraySlice<Unicode.Scalar> {
            let part = rest.prefix(while: isSkipped)
            rest = rest[part.endIndex...]
            return part
        }
        while !rest.isEmpty {
            _ = skip { $0.properties.isWhitespace || $0 == "/" }
            let name = skip { !$0.properties.isWhitespace && $0 != "=" && $0 != "/" }
            _ = skip(\.properties.isWhitespace)
            guard rest.first == "=" else {
                if name.isEmpty { _ = rest.popFirst() }
                continue
            }
            rest = rest.dropFirst()
            _ = skip(\.properties.isWhitespace)
            let value: ArraySlice<Unicode.Scalar>
            if let quote = rest.first, quote == "\"" || quote == "'" {
                rest = rest.dropFirst()
                value = skip { $0 != quote }
                rest = rest.dropFirst()
            } else {
                value = skip { !$0.properties.isWhitespace }
            }
            let key = String(String.UnicodeScalarView(name)).lowercased()
            if !key.isEmpty, found[key] == nil { found[key] = text(value) }
        }
        return found
    }

    /// A value with its character references resolved.
    private static func text(_ value: ArraySlice<Unicode.Scalar>) -> String {
        var out = String.UnicodeScalarView()
        var at = value.startIndex
        while at < value.endIndex {
            if value[at] == "&", let reference = HTMLEntities.reference(in: value[(at + 1)...]) {
                out.append(contentsOf: reference.characters.unicodeScalars)
                at = reference.end
            } else {
                out.append(value[at])
                at += 1
            }
        }
        return String(out)
    }
}
