// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// A technology that protects publications, as the ``Streamer`` sees it: recognises its own, unlocks what it may, and leaves what
/// goes beyond reading (loans, payments) to the app.
public protocol ContentProtection: Sendable {
    /// Opens an asset if it is protected by this technology.
    ///
    /// - Parameters:
    ///   - asset: the asset being opened.
    ///   - fetcher: an open fetcher of the untransformed asset.
    ///   - allowUserInteraction: whether the user may be prompted. Network requests are always allowed.
    ///   - credentials: a known password or passphrase.
    ///   - sender: the app's argument of `Streamer.open`, for its dialogs.
    ///   - onAskCredentials: prompts the user; only called if `allowUserInteraction` is true.
    /// - Returns: nil if the asset is not protected by this technology; otherwise the unlocked or restricted asset.
    /// - Throws: an error if not even a restricted publication can be created.
    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset?
}

/// An asset as a protection opened it.
public struct ProtectedAsset: Sendable {
    /// The asset, which may say the media type of the unprotected publication: the choice of the parser follows it.
    public var asset: PublicationAsset
    /// Gives the resources unlocked, or refuses them.
    public var fetcher: any Fetcher
    /// Adds the protection's service, at least.
    public var onCreatePublication: Publication.Builder.Transform?
    /// Mistakes that did not keep it from being opened.
    public var warnings: [Warning] = []
    /// The publication itself, if no parser can read the locked asset: restricted, with the metadata that are not locked. The
    /// streamer then asks no parser.
    public var publication: Publication.Builder?

    /// Creates an asset.
    ///
    /// - Parameters:
    ///   - asset: the asset with the media type of the unprotected publication.
    ///   - fetcher: reads the unlocked resources, or refuses them.
    ///   - onCreatePublication: adds the protection's service to the builder.
    public init(
        asset: PublicationAsset,
        fetcher: any Fetcher,
        onCreatePublication: Publication.Builder.Transform? = nil
    ) {
        self.asset = asset
        self.fetcher = fetcher
        self.onCreatePublication = onCreatePublication
    }
}

/// Prompts the user for credentials; returns nil if the user cancels. The result replaces the `callback` of Readium's proposal.
public typealias OnAskCredentialsCallback = @Sendable (_ dialog: Dialog<String>, _ sender: (any Sendable)?) async -> String?

/// The name before Readium's was adopted; not part of any release.
@available(*, deprecated, renamed: "OnAskCredentialsCallback")
public typealias OnAskCredentials = OnAskCredentialsCallback

/// A question to the user whose answer is an `Answer`: a title, a message, a field and two buttons.
public struct Dialog<Answer: Sendable>: Sendable {
    /// The title of the dialog.
    public var title: LocalizedString
    /// The question in a sentence.
    public var message: LocalizedString
    /// A hint at the answer, from the provider of the publication.
    public var hint: String?
    /// The button that sends the answer.
    public var confirm: LocalizedString
    /// The button that sends none.
    public var cancel: LocalizedString

    /// Creates a dialog.
    ///
    /// - Parameters:
    ///   - title: the title of the dialog.
    ///   - message: the question in a sentence.
    ///   - hint: a hint at the answer.
    ///   - confirm: the label of the button that sends the answer.
    ///   - cancel: the label of the button that sends none.
    public init(
        title: LocalizedString,
        message: LocalizedString,
        hint: String? = nil,
        confirm: LocalizedString = "Open",
        cancel: LocalizedString = "Cancel"
    ) {
        self.title = title
        self.message = message
        self.hint = hint
        self.confirm = confirm
        self.cancel = cancel
    }
}
