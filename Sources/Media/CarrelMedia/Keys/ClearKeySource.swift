// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEME

/// Keys of a ClearKey license server (W3C Encrypted Media Extensions §9.1.3, §9.1.4).
///
/// A license request names one key ID; a license may contain additional keys, which are cached too. Errors contain neither keys
/// nor addresses.
public struct ClearKeySource: ContentKeySource {
    /// Bytes of a license, at most.
    private static let licenseLimit = ClearKeyLicense.maxByteCount

    private let url: String
    private let client: any MediaHTTPClient
    private let fields: [MediaHTTPField]
    private let requests: KeyRequests

    /// Creates a source for a license server.
    ///
    /// - Parameters:
    ///   - url: address of the license server.
    ///   - client: sends the requests.
    ///   - fields: additional header fields of each request, such as an authorization.
    ///   - limit: keys in the cache, at most.
    public init(_ url: String, client: any MediaHTTPClient, fields: [MediaHTTPField] = [], limit: Int = 256) {
        self.url = url
        self.client = client
        self.fields = fields
        requests = KeyRequests(limit: limit)
    }

    /// The key of a key id; other names are unknown here.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard case .id(let id) = name, id.count == 16 else { return .unknown }
        return await requests.answer(name) { [self] in await request(id) }
    }

    /// The license request for one key.
    static func body(_ id: [UInt8]) -> [UInt8] {
        ClearKeyRequest([id], .license(.temporary)).write()
    }

    private func request(_ id: [UInt8]) async -> ContentKeyAnswer {
        let response: MediaHTTPResponse
        let all = [MediaHTTPField("Content-Type", "application/json"), MediaHTTPField("Accept", "application/json")] + fields
        do {
            response = try await client.post(url, body: Self.body(id), fields: all, limit: Self.licenseLimit)
        } catch {
            // the client's error may name the address, and with it a secret
            return .refused("the license server gave no usable response")
        }
        guard response.status == 200 else { return .refused("the license server returned status \(response.status)") }
        guard response.body.count <= Self.licenseLimit else { return .refused("the license is longer than 64 KiB") }
        guard let license = try? ClearKeyLicense(parsing: response.body.rawSpan) else {
            return .refused("the license is not one of ClearKey")
        }
        var requested: Secret?
        for other in license.keys {
            if other.id == id {
                requested = other.key
            } else if other.key.count == 16 {
                requests.add(ContentKeyGrant(key: other.key), for: .id(other.id))
            }
        }
        guard let requested else { return .refused("the license has no key with this id") }
        guard requested.count == 16 else {
            return .refused("the license has a key of \(requested.count) bytes, and keys have 16")
        }
        return .granted(ContentKeyGrant(key: requested))
    }
}
