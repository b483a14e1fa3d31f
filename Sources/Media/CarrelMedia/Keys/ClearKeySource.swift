// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON

/// Keys of a ClearKey license server (W3C Encrypted Media Extensions §9.1.3, §9.1.4).
///
/// A license request names one key ID; a license may contain additional keys, which are cached too. Errors contain neither keys
/// nor addresses.
public struct ClearKeySource: ContentKeySource {
    /// Bytes of a license, at most.
    private static let licenseLimit = 64 << 10
    /// Values in a license, at most.
    private static let valueLimit = 8192

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
        let request: JSON = ["kids": [.string(Base64URL.encode(id))], "type": "temporary"]
        return request.write()
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
        guard let keys = Self.keys(response.body) else { return .refused("the license is not one of ClearKey") }
        var found: [UInt8]?
        for (other, key) in keys {
            if other == id { found = key } else if key.count == 16 { requests.add(Self.grant(key), for: .id(other)) }
        }
        guard let found else { return .refused("the license has no key with this id") }
        guard found.count == 16 else { return .refused("the license has a key of \(found.count) bytes, and keys have 16") }
        return .granted(Self.grant(found))
    }

    private static func grant(_ key: [UInt8]) -> ContentKeyGrant { ContentKeyGrant(key: Secret(key)) }

    /// The key IDs and keys of a license: a JSON Web Key set of symmetric keys (RFC 7517 §5, RFC 7518 §6.4); nil if it is not
    /// one.
    private static func keys(_ license: [UInt8]) -> [(id: [UInt8], key: [UInt8])]? {
        let limits = JSONLimits(depth: 8, byteCount: licenseLimit, values: valueLimit)
        guard let list = (try? JSON.parse(license.rawSpan, limits: limits))?["keys"]?.array else { return nil }
        var keys: [(id: [UInt8], key: [UInt8])] = []
        for entry in list where entry["kty"]?.string == "oct" {
            guard let id = entry["kid"]?.string.flatMap({ Base64URL.decode($0) }),
                let key = entry["k"]?.string.flatMap({ Base64URL.decode($0) })
            else { return nil }
            keys.append((id, key))
        }
        return keys
    }
}
