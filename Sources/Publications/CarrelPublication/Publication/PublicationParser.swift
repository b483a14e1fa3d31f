// SPDX-License-Identifier: Apache-2.0

/// Makes publications of one format out of assets.
public protocol PublicationParser: Sendable {
    /// Parses an asset if it is of the parser's format.
    ///
    /// - Parameters:
    ///   - asset: what is being opened; its media type is that of the unprotected publication.
    ///   - format: what sniffing found it to be.
    ///   - fetcher: its resources, unlocked.
    ///   - warnings: hears of what is wrong and could be read all the same.
    /// - Returns: nil if the asset is of another format.
    /// - Throws: when it is of this format and cannot be opened.
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder?
}
