// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The keys of a remote playlist, fetched from the addresses of its key lines (`EXT-X-KEY`, RFC 8216 §4.3.2.4).
///
/// A response is the key itself: 16 bytes, or 32 for methods with 256-bit keys. Each address is requested once while its key is
/// cached, however many segments need it. Errors contain neither keys nor addresses.
///
/// ```swift
/// let keys = HLSKeySource(playlist: "https://media.example/film/video.m3u8", client: client)
/// var decrypter = try await MediaSegmentDecrypter(keyLine, segment: 7, keys: keys)
/// ```
public struct HLSKeySource: ContentKeySource {
    /// Bytes of a response, at most: more than any key, so that a longer one is refused for its length.
    private static let responseLimit = 64

    private let playlist: String?
    private let client: any MediaHTTPClient
    private let fields: [MediaHTTPField]
    private let requests: KeyRequests

    /// Creates a source for the keys of a playlist.
    ///
    /// - Parameters:
    ///   - playlist: the playlist's address, against which relative addresses are resolved; nil if key lines have absolute ones.
    ///   - client: sends the requests.
    ///   - fields: additional header fields of each request.
    ///   - limit: maximum number of cached keys.
    public init(
        playlist: String? = nil,
        client: any MediaHTTPClient,
        fields: [MediaHTTPField] = [],
        limit: Int = 256
    ) {
        self.playlist = playlist
        self.client = client
        self.fields = fields
        requests = KeyRequests(limit: limit)
    }

    /// The key at an address of `http` or `https`; others are unknown here.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard case .address(let address) = name else { return .unknown }
        let url = URIReference.resolve(address, against: playlist)
        guard ["http", "https"].contains(URIReference(url).scheme?.lowercased()) else { return .unknown }
        let (client, fields) = (client, fields)
        return await requests.answer(.address(url)) { await Self.request(url, client, fields) }
    }

    private static func request(
        _ url: String,
        _ client: any MediaHTTPClient,
        _ fields: [MediaHTTPField]
    ) async -> ContentKeyAnswer {
        let response: MediaHTTPResponse
        // the client's error may name the address, and with it a secret
        do { response = try await client.get(url, fields: fields, limit: responseLimit) } catch {
            return .refused("the key server gave no usable response")
        }
        guard response.status == 200 else { return .refused("the key server returned status \(response.status)") }
        guard response.body.count == 16 || response.body.count == 32 else {
            return .refused("the key server returned \(response.body.count) bytes, and keys have 16 or 32")
        }
        return .granted(ContentKeyGrant(key: Secret(response.body)))
    }
}
