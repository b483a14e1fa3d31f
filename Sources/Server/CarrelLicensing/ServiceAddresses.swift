// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelRights
import CarrelTokens

/// The addresses of the service that tokens name.
struct ServiceAddresses: Sendable {
    /// The public URL of the server, without a slash at the end.
    let publicURL: String?
    let rights: RightsLocation

    static let serviceID = "urn:carrel:broadband:1"

    /// The URL of the server as a request reached it.
    func base(_ request: HTTPRequest) -> String { publicURL ?? "\(request.scheme)://\(request.authority)" }

    /// The place of the configuration of an action token.
    ///
    /// - Throws: `rights.malformed` for an address that is neither `https` nor on this machine.
    func configuration(at base: String) throws(RightsError) -> ActionToken.Configuration {
        try ActionToken.Configuration(serviceID: Self.serviceID, version: 1, location: "\(base)/hms/bb/configuration")
    }

    /// The rights location of streams; nil without an address that is reached by TLS.
    func rightsLocation(_ base: String?) -> String? {
        rights.url ?? base.flatMap { $0.hasPrefix("https://") ? $0 + RightsLocation.path : nil }
    }

    /// The address of a stream, or why there is none.
    enum RightsURL: Sendable {
        case url(String)
        case missing(String)
    }

    /// The compound URL of a stream.
    func rightsURL(_ token: SealedToken?, _ base: String, _ content: String) -> RightsURL {
        guard let token else {
            return .missing("a play count, a limit of copies or pages and a storage period need a license that is stored")
        }
        guard let location = rightsLocation(base) else { return .missing(RightsLocation.missing) }
        do throws(RightsError) {
            return .url(try CompoundURL(rights: location, token: token.text, contentURL: content).description)
        } catch {
            return .missing(error.message)
        }
    }
}
