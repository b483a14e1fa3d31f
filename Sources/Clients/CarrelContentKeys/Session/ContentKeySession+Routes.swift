// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelPlayer

extension ContentKeySession {
    /// The places of a key, in the order in which they are tried.
    ///
    /// - Parameters:
    ///   - identifier: the key.
    ///   - isPersistable: whether the key is stored: only then the address of an order's key is requested.
    /// - Returns: the routes; at least one.
    /// - Throws: `keys.unplayable` for a key that only Apple's module opens, `keys.unknown`.
    func routes(of identifier: ContentKeyIdentifier, isPersistable: Bool) async throws(ContentKeyError) -> [KeyRoute] {
        var routes: [KeyRoute] = []
        let hasLicense = try await hasLicense(identifier)
        if hasLicense || token != nil, !isAddressOnly(identifier) || hasLicense { routes.append(.license) }
        for address in identifier.addresses {
            let reference = URIReference(address)
            switch reference.scheme?.lowercased() {
            case "https", "http": routes.append(.address(address))
            // the address of an order's key: requested when it is saved, never when it is played
            case "offline" where isPersistable: routes.append(.address(plainAddress(address)))
            default: continue
            }
        }
        if let clearKey = options.clearKeyServer, let id = identifier.keyID.flatMap({ Hex.decode($0) }), identifier.hasKeyIDName {
            routes.append(.clearKey(clearKey, id))
        }
        guard routes.isEmpty else { return routes }
        if identifier.addresses.contains(where: { FairPlayKeyAddress($0) != nil }) {
            throw ContentKeyError(.unplayable, "only Apple's FairPlay module opens this key: the stream is not playable here")
        }
        if identifier.addresses.contains(where: { $0.lowercased().hasPrefix("offline:") }) {
            throw ContentKeyError(.unknownKey, "the key of an order is requested when the order is saved, not when it is played")
        }
        throw ContentKeyError(.unknownKey, "neither a license nor a key server is known for this key")
    }

    /// Whether the only names are addresses of http servers, for which no token gives a license.
    nonisolated func isAddressOnly(_ identifier: ContentKeyIdentifier) -> Bool {
        identifier.addresses.count == identifier.names.count
            && identifier.addresses.allSatisfy { ["http", "https"].contains(URIReference($0).scheme?.lowercased()) }
    }

    /// The address of an order's key over https; over http if the playlist came so.
    private func plainAddress(_ offline: String) -> String {
        let isPlain = options.source.map { URIReference($0).scheme?.lowercased() == "http" } ?? false
        return (isPlain ? "http" : "https") + offline.dropFirst("offline".count)
    }

    /// Whether a license that has the key is stored, or held for a stream.
    func hasLicense(_ identifier: ContentKeyIdentifier) async throws(ContentKeyError) -> Bool {
        guard let engine, await engine.service != nil else { return false }
        do throws(PlayerError) {
            for content in identifier.contents {
                if await engine.heldLicense(for: content) != nil { return true }
                if try await engine.storedLicense(for: content) != nil { return true }
            }
            return false
        } catch {
            throw ContentKeyError(error, key: identifier.description)
        }
    }
}

extension ContentKeyIdentifier {
    /// Whether the media name a key ID, which a license server of ClearKey requires.
    var hasKeyIDName: Bool {
        names.contains { name in
            switch name {
            case .id(let bytes): bytes.count == 16
            case .content(let text): text.hasPrefix("urn:marlin:kid:")
            default: false
            }
        }
    }
}
