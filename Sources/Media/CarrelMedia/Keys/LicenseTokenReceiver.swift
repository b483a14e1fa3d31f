// SPDX-License-Identifier: Apache-2.0

/// A source of keys that redeems tokens of licenses.
public protocol LicenseTokenReceiver: ContentKeySource {
    /// Takes a token, and returns once the keys of its license can be requested or the license has none.
    ///
    /// - Parameter licenseToken: the token passed in by the app.
    func receive(licenseToken: String) async

    /// Takes a license or a token that a file contains. The maker of the file chose it, so it leads only to servers that the user
    /// uses already.
    ///
    /// - Parameter text: a license or a token.
    func receive(licenseInFile text: String) async

    /// Why the last token gave no license: a lower-case sentence without a period; nil if it gave one, or there was none. A refusal
    /// for this reason leaves the key to other sources.
    var tokenFailure: String? { get async }
}

extension LicenseTokenReceiver {
    /// Takes it as a token of the app.
    ///
    /// - Parameter text: a license or a token.
    public func receive(licenseInFile text: String) async { await receive(licenseToken: text) }

    /// Nil: the source states no reason.
    public var tokenFailure: String? { get async { nil } }
}
