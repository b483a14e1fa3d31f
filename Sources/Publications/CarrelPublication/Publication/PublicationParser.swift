// SPDX-License-Identifier: Apache-2.0

/// Makes publications of one format out of assets.
public protocol PublicationParser: Sendable {
    /// Parses an asset if it is of the parser's format.
    ///
    /// - Parameters:
    ///   - asset: the asset being opened; its media type describes the unprotected publication.
    ///   - format: the detected format.
    ///   - fetcher: its unlocked resources.
    ///   - warnings: receives recoverable mistakes.
    /// - Returns: nil if the asset has another format.
    /// - Throws: an error if it has this format but cannot be opened.
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder?
}
