// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// The kind of a license that has come for requests that wait.
public enum LicenseKind: Sendable, Hashable {
    /// The license of a single key. Its token is the key's content id or address, or the 32 hexadecimal digits of its id.
    case key
    /// A license whose token is still to be redeemed, or whose keys the caller does not know: all requests retry their keys.
    case token
}

/// A source of keys that redeems tokens of licenses.
public protocol LicenseTokenReceiver: ContentKeySource {
    /// Takes a token, and returns once the keys of its license can be requested or the license has none.
    ///
    /// - Parameter licenseToken: the token passed in by the app.
    func receive(licenseToken: String) async
}
