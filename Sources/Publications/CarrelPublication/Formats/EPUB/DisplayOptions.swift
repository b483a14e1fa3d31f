// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelXML

/// The booksellers' declaration, from before EPUB 3, that pages are laid out by their publisher: `display_options` in a separate
/// file.
enum DisplayOptions {
    private static let paths: [ResourcePath] = [
        "META-INF/com.apple.ibooks.display-options.xml", "META-INF/com.kobobooks.display-options.xml",
    ]

    /// - Parameters:
    ///   - metadata: receives the layout and the orientation of the first such file.
    ///   - fetcher: the container's fetcher.
    ///   - warnings: receives a warning about an unreadable file.
    /// - Throws: transient errors of reading.
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
