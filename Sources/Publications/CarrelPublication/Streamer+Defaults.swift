// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient

extension Streamer {
    /// The built-in parsers.
    ///
    /// - Parameter client: the client for linked resources of manifests.
    /// - Returns: parsers, of which at most one accepts an asset.
    static func defaultParsers(_ client: HTTPClient) -> [any PublicationParser] {
        [
            EPUBParser(), ReadiumParser(client: client), PDFParser(), ComicParser(), AudiobookParser(), W3CParser(client: client),
        ]
    }

    /// Protections that belong to a format, and at the end the one for assets that no other opened.
    static let formatProtections: [any ContentProtection] = [
        ZIPPasswordProtection(), PDFPasswordProtection(), FallbackProtection(),
    ]
}
