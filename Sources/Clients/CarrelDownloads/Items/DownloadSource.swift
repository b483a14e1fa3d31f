// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
public import CarrelHTTP

/// A stream to save, and what its servers require.
public struct DownloadSource: Sendable {
    /// The title that users see.
    public var title: String
    /// The URL, or the path of a file.
    public var address: String
    /// The license server of a protected stream; empty for the service of the player, or for clear streams.
    public var licenseServer: String
    /// The address of the license server's certificate; empty for its usual route.
    public var certificateURL: String
    /// A license server of ClearKey, for streams without another one; empty for none.
    public var clearKeyServer: String
    /// The token for the license server.
    package var licenseToken: Secret?
    /// Header fields of requests to the origin of the address, and to no other.
    public var originFields: HTTPFields
    /// Whether plain http beyond this machine is allowed.
    public var allowsPlainHTTP: Bool
    /// Whether playlists, key lines and redirects may lead into private networks.
    public var allowsPrivateNetworks: Bool

    /// Creates a source without a token.
    ///
    /// - Parameters:
    ///   - address: the URL, or the path of a file.
    ///   - title: the title that users see; empty for the last part of the address.
    public init(_ address: String, title: String = "") {
        self.address = address
        self.title = title
        licenseServer = ""
        certificateURL = ""
        clearKeyServer = ""
        originFields = [:]
        allowsPlainHTTP = false
        allowsPrivateNetworks = false
    }

    /// Sets the token for the license server.
    ///
    /// - Parameter token: the token; nil for none.
    public mutating func setLicenseToken(_ token: String?) { licenseToken = token.map { Secret(Array($0.utf8)) } }
}
