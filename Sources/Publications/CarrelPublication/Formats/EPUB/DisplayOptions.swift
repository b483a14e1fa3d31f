// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelXML

/// The booksellers' declaration, from before EPUB 3, that pages are laid out by their publisher: `display_options` in a file of their own.
enum DisplayOptions {
    private static let paths: [ResourcePath] = [
        "META-INF/com.apple.ibooks.display-options.xml", "META-INF/com.kobobooks.display-options.xml",
    ]

    /// - Parameters:
    ///   - metadata: gets the layout and the orientation of the first such file.
    ///   - fetcher: of the container.
    ///   - warnings: hears of a file that cannot be read.
    /// - Throws: what reading throws where another time it may not.
    static func add(to metadata: inout Metadata, _ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) {
        for path in paths {
            guard let root = try await EPUBDocument.optional(path, fetcher, warnings) else { continue }
            let options = root.all("platform").flatMap { $0.all("option") }
            func value(_ name: String) -> String? { options.first { $0["name"] == name }?.words }
            metadata.layout = value("fixed-layout") == "true" ? .fixed : .reflowable
            let orientations = ["landscape-only": "landscape", "portrait-only": "portrait", "none": "auto"]
            if let orientation = value("orientation-lock").flatMap({ orientations[$0] }) {
                var presentation = metadata.otherMetadata["presentation"]?.object ?? JSONObject()
                presentation["orientation"] = .string(orientation)
                metadata.otherMetadata["presentation"] = .object(presentation)
            }
            return
        }
    }
}
