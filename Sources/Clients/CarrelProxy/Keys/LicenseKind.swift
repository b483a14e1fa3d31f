// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// The kind of a license that has come for requests that wait.
public enum LicenseKind: Sendable, Hashable {
    /// That of one key. Its token is the content id or the address of the key, or the 32 hexadecimal digits of its id.
    case key
    /// A license that is still to be redeemed by its token, or whose keys the caller does not know: all requests ask for their keys again.
    case token
}

/// A source of keys that redeems tokens of licenses.
public protocol LicenseTokenReceiver: ContentKeySource {
    /// Takes a token, and returns when the keys of its license can be asked for, or when there are none.
    ///
    /// - Parameter licenseToken: as the app passed it in.
    func receive(licenseToken: String) async
}
