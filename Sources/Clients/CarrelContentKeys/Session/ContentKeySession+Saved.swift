// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelPlayer
import CarrelReader
import CarrelRights

/// The keys of saved items.
extension ContentKeySession {
    /// Key addresses that are requested at the same time, at most.
    private static let addressLimit = 4

    /// Requests all keys of an item, and stores them. All are on the disk before this returns; call it before media are requested.
    ///
    /// - Parameters:
    ///   - keys: the keys of the item, each with its names.
    ///   - item: the id of the item.
    /// - Throws: the ``ContentKeyError`` of the first key that failed, with the failures of further keys in
    ///   ``ContentKeyError/others``. The other keys are kept, and are not requested again by the next call.
    public func persist(_ keys: [ContentKeyIdentifier], item: String) async throws(ContentKeyError) {
        guard engine != nil else { throw ContentKeyError(.notStorable, "without a player's folder, keys are not stored") }
        var unique: [ContentKeyIdentifier] = []
        var seen: Set<ContentKeyIdentifier> = []
        for key in keys where seen.insert(key).inserted { unique.append(key) }
        removeRecipient(item)
        addRecipient(ContentKeyAsset(id: item, keys: unique, isSaved: true))
        var failures: [ContentKeyError] = []
        // one license may have several keys
        for key in unique where !isAddressOnly(key) {
            do throws(ContentKeyError) { try await wait(for: try processRequest(key, for: item)) } catch {
                failures.append(error)
            }
        }
        failures += await persistAddresses(unique.filter { isAddressOnly($0) }, item: item)
        guard var first = failures.first else { return }
        first.others = Array(failures.dropFirst().prefix(Self.failureLimit))
        throw first
    }

    /// Failures of one error, at most.
    private static let failureLimit = 64

    private func persistAddresses(_ keys: [ContentKeyIdentifier], item: String) async -> [ContentKeyError] {
        await withTaskGroup(of: ContentKeyError?.self) { group in
            var failures: [ContentKeyError] = []
            for (number, key) in keys.enumerated() {
                if number >= Self.addressLimit, let failure = await group.next() ?? nil { failures.append(failure) }
                group.addTask {
                    do throws(ContentKeyError) {
                        try await self.wait(for: try await self.processRequest(key, for: item))
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            for await failure in group { if let failure { failures.append(failure) } }
            return failures
        }
    }

    /// Renews the key of a request: its license, for which a renewing request is provided.
    ///
    /// - Parameter request: an answered request of this session.
    /// - Throws: ``ContentKeyError``; the key is then unchanged.
    public func renew(_ request: ContentKeyRequest) async throws(ContentKeyError) {
        let engine = try player()
        let license: String
        do throws(PlayerError) { license = try await self.license(of: request.identifier, engine) } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        // the answered request stays, so that the key is here meanwhile and after a failure
        try await wait(for: try make(request.identifier, .renewing, asset: request.asset, license: license))
        request.set(.renewed)
    }

    private func license(of identifier: ContentKeyIdentifier, _ engine: PlayerEngine) async throws(PlayerError) -> String {
        for content in identifier.contents {
            if let held = await engine.heldLicense(for: content) { return held }
            if let stored = try await engine.storedLicense(for: content) { return stored.id }
        }
        throw PlayerError(.noLicense, "the key has no license that could be renewed")
    }

    /// Renews the keys of a saved item: its licenses, and the ends of its orders. Media are not requested.
    ///
    /// A license that the service does not renew any more is replaced with the license of the session's token, if there is one. The
    /// keys of an order that was revoked, cancelled or returned are deleted.
    ///
    /// - Parameter item: the id of the item.
    /// - Throws: the ``ContentKeyError`` of the first key that failed; `keys.ended` for a revoked order.
    public func renew(item: String) async throws(ContentKeyError) {
        let engine = try player()
        let rows: [SavedKeyRow]
        let hasRevokedKeys: Bool
        do throws(PlayerError) {
            let store = try await engine.savedItems()
            rows = try await store.savedKeys(ofItem: item)
            hasRevokedKeys = try await store.hasRevokedKeys(ofItem: item)
        } catch {
            throw ContentKeyError(error)
        }
        addRecipient(ContentKeyAsset(id: item, isSaved: true))
        var failure: ContentKeyError?
        for (license, names) in Dictionary(grouping: rows.filter { $0.license != nil }, by: { $0.license ?? "" }).sorted(by: {
            $0.key < $1.key
        }) {
            do throws(ContentKeyError) {
                try await renew(license, names.map(\.name), item: item)
            } catch {
                failure = failure ?? error
            }
        }
        let orders = rows.filter { $0.kind == .order }
        var revoked: [String] = []
        for (url, rows) in Dictionary(grouping: orders, by: { $0.url ?? "" }).sorted(by: { $0.key < $1.key }) {
            guard !revoked.contains(where: { KeyAddressServer.areOfOneOrder($0, url) }) else { continue }
            let others = orders.filter { KeyAddressServer.areOfOneOrder($0.url ?? "", url) }
            do throws(ContentKeyError) { try await renewOrder(url, rows, all: others, item: item) } catch {
                if error.code == .ended { revoked.append(url) }
                failure = failure ?? error
            }
        }
        if hasRevokedKeys { failure = failure ?? ContentKeyError(.ended, "the order was revoked, and its keys were deleted") }
        if let failure { throw failure }
    }

    private func renew(_ license: String, _ names: [String], item: String) async throws(ContentKeyError) {
        let identifiers = names.compactMap { ContentKeyIdentifier(savedText: $0) }
        guard let first = identifiers.first else { return }
        log.write("renewal of an existing key", first, license: license)
        do throws(ContentKeyError) {
            try await wait(for: try make(first, .renewing, asset: item, license: license))
        } catch {
            guard token != nil, [.ended, .expired, .unknownKey].contains(error.code) else { throw error }
            for identifier in identifiers {
                requests[RequestKey(asset: item, identifier: identifier)] = nil
                try await wait(for: try processRequest(identifier, for: item))
            }
            await removeUnused(license)
        }
    }

    /// Removes a license that was replaced, unless another item needs it.
    func removeUnused(_ license: String) async {
        guard let engine, let store = try? await engine.savedItems(),
            let users = try? await store.items(withLicense: license, limit: 1), users.isEmpty
        else { return }
        _ = try? await store.remove(license)
    }

    /// Requests the end of an order again.
    private func renewOrder(
        _ url: String,
        _ rows: [SavedKeyRow],
        all: [SavedKeyRow],
        item: String
    ) async throws(ContentKeyError) {
        let engine = try player()
        log.write("renewal of an order's key", nil, [.init("url", .url(url))])
        var renewed = rows
        var failure: ContentKeyError?
        do throws(ContentKeyError) {
            let response = try await server.request(url)
            let renewAt = try await renewalTime(response.orderEnd)
            for index in renewed.indices {
                renewed[index].key = response.key
                (renewed[index].until, renewed[index].renewAt) = (response.orderEnd, renewAt)
                renewed[index].url = response.url
            }
        } catch {
            failure = error
        }
        do throws(PlayerError) {
            let store = try await engine.savedItems()
            switch failure?.code {
            case .ended?:
                try await store.removeRevokedKeys(all.map(\.name), ofItem: item)
                log.write("persistable key deleted: the order was revoked")
                report(.invalidated(item))
            case .expired?:
                let now = try await engine.judgingTime().instant
                for index in renewed.indices {
                    renewed[index].until = min(renewed[index].until ?? now, now)
                    // it may be extended later
                    renewed[index].renewAt = now + .seconds(86_400)
                }
                try await store.renew(renewed, ofItem: item)
            case .some: break
            case nil: try await store.renew(renewed, ofItem: item)
            }
        } catch {
            throw ContentKeyError(error)
        }
        if let failure { throw failure }
    }

    /// Renews the keys of a saved item if that is due.
    ///
    /// - Parameter item: the id of the item.
    /// - Returns: whether it was due.
    /// - Throws: the errors of ``renew(item:)``.
    @discardableResult
    public func renewIfDue(item: String) async throws(ContentKeyError) -> Bool {
        let engine = try player()
        let isDue: Bool
        do throws(PlayerError) {
            let state = try await engine.savedKeyState(of: item)
            let now = try await engine.judgingTime().instant
            isDue = state.renewAt.map { $0 <= now } ?? false
            // nothing else tells that a license without an end was revoked
            if !state.licenses.isEmpty { _ = await engine.followRevocations() }
        } catch {
            throw ContentKeyError(error)
        }
        if isDue { try await renew(item: item) }
        return isDue
    }

    /// Removes the persistable keys of an item: rows, and the licenses that no other item needs.
    ///
    /// - Parameters:
    ///   - item: the id of the item.
    ///   - givesBack: whether the licenses are returned to the service, now or at the next contact.
    /// - Throws: `keys.store`, `keys.vault`.
    public func invalidatePersistableKeys(item: String, givesBack: Bool = false) async throws(ContentKeyError) {
        let engine = try player()
        // first: an open request stores nothing for the item any more
        removeRecipient(item)
        do throws(PlayerError) { try await engine.removeItem(item, givesBack: givesBack) } catch { throw ContentKeyError(error) }
        log.write("persistable key deleted")
        report(.invalidated(item))
    }
}

extension ContentKeyIdentifier {
    /// The identifier of a name as rows have it; nil for other text.
    init?(savedText text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let value = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "id":
            guard let bytes = Hex.decode(value) else { return nil }
            self.init(.id(bytes))
        case "content": self.init(.content(value))
        case "group": self.init(.group(value))
        case "address": self.init(.address(value))
        case "track":
            guard let number = UInt32(value) else { return nil }
            self.init(.track(number))
        default: return nil
        }
    }
}
