// SPDX-License-Identifier: Apache-2.0

/// The kind of a license that has come for requests that wait.
public enum LicenseKind: Sendable, Hashable {
    /// The license of a single key. Its token is the key's content id or address, or the 32 hexadecimal digits of its id.
    case key
    /// A license whose token is still to be redeemed, or whose keys the caller does not know: all requests retry their keys.
    case token
}
