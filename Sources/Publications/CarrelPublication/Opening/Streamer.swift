// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Opens publications, whatever their format and whatever protects them.
public final class Streamer: Sendable {
    private let parsers: [any PublicationParser]
    private let contentProtections: [any ContentProtection]
    private let opener: AssetOpener
    private let onCreatePublication: Publication.Builder.Transform?
    private let onAskCredentials: OnAskCredentialsCallback?

    /// Creates a streamer.
    ///
    /// - Parameters:
    ///   - parsers: additional parsers, tried in this order before the built-in parsers.
    ///   - ignoresDefaultParsers: whether to omit the built-in parsers.
    ///   - contentProtections: additional technologies, tried in this order before the built-in ones (ZIP and PDF passwords). The
    ///     first that recognizes an asset is the only one.
    ///   - opener: opens files and addresses.
    ///   - onCreatePublication: changes every publication before it is created.
    ///   - onAskCredentials: prompts the user for a password; nil never prompts. A program at a terminal passes
    ///     ``TerminalDialog/ask(_:_:)``.
    public init(
        parsers: [any PublicationParser] = [],
        ignoresDefaultParsers: Bool = false,
        contentProtections: [any ContentProtection] = [],
        opener: AssetOpener = AssetOpener(),
        onCreatePublication: Publication.Builder.Transform? = nil,
        onAskCredentials: OnAskCredentialsCallback? = nil
    ) {
        self.parsers = parsers + (ignoresDefaultParsers ? [] : Self.defaultParsers(opener.client))
        self.contentProtections = contentProtections + Self.formatProtections
        self.opener = opener
        self.onCreatePublication = onCreatePublication
        self.onAskCredentials = onAskCredentials
    }

    /// Opens a publication. A publication that stays locked is opened restricted if possible.
    ///
    /// - Parameters:
    ///   - asset: the asset to open.
    ///   - allowUserInteraction: whether the user may be prompted, because the publication is opened for reading; false if it is
    ///     only added to a shelf. Network requests are allowed in both cases.
    ///   - credentials: a known password or passphrase.
    ///   - sender: passed to `onAskCredentials`, for its dialog.
    ///   - onCreatePublication: changes this publication before it is created.
    ///   - warnings: receives mistakes in the publication.
    /// - Returns: the publication, open or restricted.
    /// - Throws: `opening.credentials-required` or `opening.incorrect-credentials` if nothing can be read without the right
    ///   credentials; other ``Publication/OpeningError`` codes.
    public func open(
        asset: PublicationAsset,
        allowUserInteraction: Bool,
        credentials: String? = nil,
        sender: (any Sendable)? = nil,
        onCreatePublication: Publication.Builder.Transform? = nil,
        warnings: (any WarningLogger)? = nil
    ) async throws(Publication.OpeningError) -> Publication {
        let opened = try await opener.open(asset, warnings: warnings)
        var (asset, fetcher, format) = (asset, opened.fetcher, opened.format)
        do throws(Publication.OpeningError) {
            var unlocked: ProtectedAsset?
            for protection in contentProtections {
                unlocked = try await protection.open(
                    asset,
                    fetcher: fetcher,
                    allowUserInteraction: allowUserInteraction,
                    credentials: credentials,
                    sender: sender,
                    onAskCredentials: allowUserInteraction ? onAskCredentials : nil
                )
                if unlocked != nil { break }
            }
            if unlocked == nil, let refusal = opened.refusal { throw Publication.OpeningError(refusal) }
            if let unlocked {
                for warning in unlocked.warnings { warnings?.log(warning) }
                (asset, fetcher) = (unlocked.asset, unlocked.fetcher)
                if let builder = unlocked.publication {
                    return build(builder, unlocked.onCreatePublication, onCreatePublication)
                }
                format = try await opener.format(of: asset, fetcher: fetcher, before: format, warnings: warnings)
            }
            for parser in parsers {
                guard let builder = try await parser.parse(asset, format: format, fetcher: fetcher, warnings: warnings) else {
                    continue
                }
                return build(builder, unlocked?.onCreatePublication, onCreatePublication)
            }
            throw Publication.OpeningError(.unsupportedFormat, "no publication can be made of a file of type \(format.mediaType)")
        } catch {
            fetcher.close()
            throw error
        }
    }

    /// The publication after the changes of its protection, of the streamer, and of the call.
    private func build(
        _ builder: Publication.Builder,
        _ protecting: Publication.Builder.Transform?,
        _ asked: Publication.Builder.Transform?
    ) -> Publication {
        var builder = builder
        for change in [protecting, onCreatePublication, asked] { change?(&builder) }
        return builder.build()
    }
}
