// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
import CarrelHome
import CarrelWeb

/// The pages in the binary, as responses.
package enum WebPage {
    static let missing = ServerError(.notFound, "there is no such page")

    /// Returns a file unchanged.
    package static func file(_ name: String, _ request: HTTPRequest, status: HTTPStatus = .ok) throws -> HTTPResponse {
        guard let asset = WebAssets.named(name), !name.hasSuffix(partSuffix) else { throw missing }
        return file(asset, request, status: status)
    }

    static func file(_ asset: WebAsset, _ request: HTTPRequest, status: HTTPStatus = .ok) -> HTTPResponse {
        var response = HTTPResponse.serving(
            Representation(length: Int64(asset.bytes.count), contentType: asset.mediaType, etag: asset.etag) {
                .bytes(Array(asset.bytes[Int($0.lowerBound)..<Int($0.upperBound)]))
            },
            for: request,
            headers: ["Cache-Control": "no-cache", "Content-Security-Policy": WebAssets.contentSecurityPolicy]
        )
        if status != .ok { response.status = status }
        response.isCompressible = true
        return response
    }

    /// Comments that mark insertion points in pages with forms. User input is escaped, so it cannot contain one.
    private static let places = ["problem", "next", "name", "sign-on", "facts"]
    /// Suffix of files that are parts of pages.
    private static let partSuffix = ".part"

    /// A small page for visitors who are not signed in, with parts that only the server knows.
    ///
    /// Never cached. Its address is sent to pages of this server only, so that a form sent from it has an `Origin`, which is
    /// missing for a page without a referrer.
    /// - Parameters:
    ///   - name: the file with the page's title in its first line, and the contents of the shared shell.
    ///   - parts: the replacements of the comments `<!-- problem -->` and so on; missing ones are removed.
    ///   - status: the status.
    /// - Returns: the page.
    /// - Throws: if there is no such file.
    package static func door(_ name: String, _ parts: [String: Markup] = [:], status: HTTPStatus = .ok) throws -> HTTPResponse {
        guard let shell = WebAssets.named("door.html"), let inside = WebAssets.named(name + partSuffix) else { throw missing }
        let lines = String(decoding: inside.bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        var text = String(decoding: shell.bytes, as: UTF8.self)
            .replacing("<!-- title -->", with: lines[0])
            .replacing("<!-- body -->", with: lines[1])
        for place in places { text = text.replacing("<!-- \(place) -->", with: parts[place]?.text ?? "") }
        return HTTPResponse.html(
            text,
            status: status,
            headers: [
                "Cache-Control": "no-store", "Content-Security-Policy": WebAssets.contentSecurityPolicy,
                "Referrer-Policy": "same-origin",
            ]
        )
    }

    /// HTML whose every variable part is escaped.
    package struct Markup: Sendable, Equatable {
        let text: String

        /// The problem, announced to screen readers immediately.
        package static func problem(_ sentence: String) -> Markup {
            Markup(text: "<p class=\"problem\" role=\"alert\">\(escaped(sentence))</p>")
        }

        package static func notice(_ sentence: String) -> Markup {
            Markup(text: "<p class=\"good\" role=\"status\">\(escaped(sentence))</p>")
        }

        /// A field that the form sends along.
        package static func hidden(_ name: String, _ value: String) -> Markup {
            Markup(text: "<input type=\"hidden\" name=\"\(escaped(name))\" value=\"\(escaped(value))\">")
        }

        /// A link that looks like a button.
        package static func link(_ words: String, to address: String) -> Markup {
            Markup(text: "<a class=\"button button-quiet\" href=\"\(escaped(address))\">\(escaped(words))</a>")
        }

        /// Facts, each with its name.
        package static func facts(_ facts: [(name: String, value: String)]) -> Markup {
            let rows = facts.map { "<div><dt>\(escaped($0.name))</dt><dd dir=\"auto\">\(escaped($0.value))</dd></div>" }
            return Markup(text: "<dl class=\"facts\">\(rows.joined())</dl>")
        }

        /// Text, also fit for the value of an attribute in quotes.
        package static func plain(_ value: String) -> Markup { Markup(text: escaped(value)) }

        private static func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
                .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
        }
    }
}
