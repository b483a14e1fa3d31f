// SPDX-License-Identifier: Apache-2.0

/// A source of keys that redeems tokens of licenses.
public protocol LicenseTokenReceiver: ContentKeySource {
    /// Takes a token, and returns once the keys of its license can be requested or the license has none.
    ///
    /// - Parameter licenseToken: the token passed in by the app.
    func receive(licenseToken: String) async
}
