// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelPlayer
import CarrelReader
import CarrelRights

/// The session's own key delivery: the steps in their order, online and for use without a network.
extension ContentKeySession {
    /// Delivers a key: what the session does without a delegate.
    ///
    /// - Parameter request: a request that was provided.
    public func deliver(_ request: ContentKeyRequest) async {
        guard request.status == .requestingResponse else { return }
        log.writeInfo(request)
        do throws(ContentKeyError) {
            switch request.kind {
            case .online:
                log.write("online key flow", request.identifier)
                try await deliverOnline(request)
            case .renewing:
                log.write("renewal of an existing key", request.identifier)
                try await deliverRenewed(request)
            case .persistable:
                log.write("offline key flow", request.identifier)
                try await deliverPersistable(request)
            }
        } catch {
            await retryOrFail(request, error)
        }
    }

    private func retryOrFail(_ request: ContentKeyRequest, _ error: ContentKeyError) async {
        guard request.status == .requestingResponse else { return }
        if let reason = await retryReason(of: error), await retries(request, reason) {
            log.write("key request retried", request.identifier, [.init("reason", .name(reason.rawValue))])
            do throws(ContentKeyError) {
                _ = try make(
                    request.identifier,
                    request.kind,
                    asset: request.asset,
                    license: request.license,
                    attempt: request.attempt + 1
                )
                finish(request, .retried)
                report(.retried(request, reason))
                return
            } catch {
                await process(error, for: request)
                return
            }
        }
        await process(error, for: request)
    }

    /// Why a request is made again; nil if its failure is final.
    private func retryReason(of error: ContentKeyError) async -> ContentKeyRequest.RetryReason? {
        if error.code == Self.endedInResponse { return .expiredLease }
        guard let failure = error.playerError else { return error.code == .network ? .timedOut : nil }
        if failure.code == .network { return .timedOut }
        guard let engine, await engine.recover(from: failure) else { return nil }
        certificate = nil
        return .obsoleteKey
    }

    /// The code of a license that had ended when it came.
    private static let endedInResponse = ContentKeyError.Code("keys.expired-in-response")

    // MARK: Online

    private func deliverOnline(_ request: ContentKeyRequest) async throws(ContentKeyError) {
        if try await wantsPersistableKey(request) {
            do throws(ContentKeyError) {
                try await respondByRequestingPersistableKey(to: request)
                return
            } catch {
                log.write(
                    "persistable key request refused, continuing online",
                    request.identifier,
                    [.init("error", .code(of: error))]
                )
            }
        }
        try await deliverNow(request)
    }

    /// Whether the persistable key is requested: the stream is saved, a key is stored already, a persistable request is pending, or
    /// the token is redeemed for the store.
    private func wantsPersistableKey(_ request: ContentKeyRequest) async throws(ContentKeyError) -> Bool {
        guard let engine, let keys = assets[request.asset] else { return false }
        if keys.asset.isSaved || keys.persistable.contains(request.identifier) { return true }
        guard await engine.service != nil else { return false }
        do throws(PlayerError) {
            for content in request.identifier.contents where try await engine.storedLicense(for: content)?.isLive == true {
                return true
            }
        } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        // a token that is redeemed once gives its license to the store, if it may be stored
        return token.map { $0.contains("<") } ?? false
    }

    /// Delivers a key for use now.
    private func deliverNow(_ request: ContentKeyRequest) async throws(ContentKeyError) {
        try await deliver(request, by: try await routes(of: request.identifier, isPersistable: false)) {
            route throws(ContentKeyError) in
            if route == .license, await self.isHeld(request.identifier) {
                self.useLicenses()
                try await self.process(ContentKeyResponse(PersistableContentKey(content: .license(""))), for: request)
                return
            }
            let bytes = try await self.exchange(request, route)
            let all = route == .license ? try await self.withHeldKeys(bytes, request) : bytes
            try await self.process(ContentKeyResponse(all), for: request)
        }
    }

    /// A response that has the keys of the same license in other uses too: they are requested if this response lacks one.
    private func withHeldKeys(_ bytes: [UInt8], _ request: ContentKeyRequest) async throws(ContentKeyError) -> [UInt8] {
        guard let engine, let data = sent[request.id]?.data, let text = String(validating: bytes, as: UTF8.self) else {
            return bytes
        }
        let response: PlayerEngine.KeyResponse
        do throws(PlayerError) { response = try await engine.read(text, for: data) } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        let lost = await engine.heldKeysLost(by: response)
        guard !lost.isEmpty else { return bytes }
        let all = response.keyIDs + lost.map(\.hex)
        return try await exchangeOnce(request, .license, Array(all.prefix(Self.keyIDLimit)))
    }

    private func isHeld(_ identifier: ContentKeyIdentifier) async -> Bool {
        guard let engine, let now = try? await engine.judgingTime().instant else { return false }
        for content in identifier.contents where await engine.heldLicense(for: content, at: now) != nil { return true }
        return false
    }

    /// Failures after which the next route is tried: there is no license, or no key. A refusal is final.
    private static let absences: Set<ContentKeyError.Code> = [.unknownKey, .missingKey, .notPersonalized]

    /// Tries the routes of a key in their order, and throws the first failure if none has it.
    private func deliver(
        _ request: ContentKeyRequest,
        by routes: [KeyRoute],
        _ body: (KeyRoute) async throws(ContentKeyError) -> Void
    ) async throws(ContentKeyError) {
        var failure: ContentKeyError?
        for route in routes {
            do throws(ContentKeyError) { return try await body(route) } catch {
                guard request.status == .requestingResponse else { return }
                guard Self.absences.contains(error.code) else { throw error }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    // MARK: Persistable

    private func deliverPersistable(_ request: ContentKeyRequest) async throws(ContentKeyError) {
        do throws(ContentKeyError) {
            let routes = try await routes(of: request.identifier, isPersistable: true)
            try await deliver(request, by: routes) { route throws(ContentKeyError) in
                if let known = try await self.storedKey(request, route) {
                    self.log.write("persistable key already exists", request.identifier)
                    if route == .license { try await self.store(known, for: request) }
                    try await self.process(ContentKeyResponse(known), for: request)
                    return
                }
                let key = try await self.newPersistableKey(request, route)
                self.log.write("persistable key obtained", request.identifier)
                if case .response(let response) = key.content { try self.requireKey(of: request, in: response) }
                try await self.store(key, for: request)
                try await self.process(ContentKeyResponse(key), for: request)
            }
            log.write("persistable key available", request.identifier)
        } catch {
            // what may not be stored is played online, unless the stream is to be saved
            guard error.code == .notStorable, assets[request.asset]?.asset.isSaved == false else { throw error }
            log.write(
                "persistable key request refused, continuing online",
                request.identifier,
                [.init("error", .code(of: error))]
            )
            assets[request.asset]?.persistable.remove(request.identifier)
            let online = ContentKeyRequest(
                request.id,
                request.identifier,
                .online,
                asset: request.asset,
                attempt: request.attempt
            )
            requests[RequestKey(asset: request.asset, identifier: request.identifier)] = online
            finish(request, .retried)
            do throws(ContentKeyError) { try await deliverNow(online) } catch { await retryOrFail(online, error) }
        }
    }

    /// The key that is stored already: by a license that has not ended, or by a row of the item.
    private func storedKey(_ request: ContentKeyRequest, _ route: KeyRoute) async throws(ContentKeyError)
        -> PersistableContentKey?
    {
        let engine = try player()
        do throws(PlayerError) {
            guard route != .license else {
                for content in request.identifier.contents {
                    guard let stored = try await engine.storedLicense(for: content), stored.isLive else { continue }
                    if let id = request.identifier.keyID, !stored.keyIDs.contains(id) { continue }
                    return PersistableContentKey(content: .license(stored.id))
                }
                return nil
            }
            guard let asset = assets[request.asset]?.asset, asset.isSaved else { return nil }
            let names = Set(request.identifier.savedNames(among: asset.keys))
            let rows = try await engine.savedItems().savedKeys(ofItem: asset.id)
            let time = try await engine.judgingTime()
            // the server may have a later end than a key that may not be used now
            let usable = rows.first {
                $0.kind != .license && names.contains($0.name) && SavedKeyState.obstacle(of: $0, at: time) == nil
            }
            return usable.map { PersistableContentKey(content: .row($0)) }
        } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
    }

    /// Requests a persistable key. The license of one key has all keys of the asset, if the token lists them.
    private func newPersistableKey(
        _ request: ContentKeyRequest,
        _ route: KeyRoute
    ) async throws(ContentKeyError) -> PersistableContentKey {
        let key = try await makePersistableKey(for: request, from: try await exchange(request, route))
        guard case .response(let response) = key.content, let engine else { return key }
        let lost: [KeyID]
        do throws(PlayerError) { lost = try await engine.keysLost(by: response) } catch { throw ContentKeyError(error) }
        guard !lost.isEmpty else { return key }
        // the same license is stored for other keys: they are requested too, so that none is lost
        let all = response.keyIDs + lost.map(\.hex)
        let bytes = try await exchangeOnce(request, route, Array(all.prefix(Self.keyIDLimit)))
        return try await makePersistableKey(for: request, from: bytes)
    }

    // MARK: Renewals

    private func deliverRenewed(_ request: ContentKeyRequest) async throws(ContentKeyError) {
        guard request.license != nil else {
            throw ContentKeyError(.state, "a key without a license is requested again, not renewed")
        }
        let bytes = try await exchangeOnce(request, .license, [])
        let key = try? await makePersistableKey(for: request, from: bytes)
        if let key, case .response(let response) = key.content, response.isStorable {
            try await self.store(key, for: request)
            try await self.process(ContentKeyResponse(key), for: request)
        } else {
            // the lease of a stream
            try await self.process(ContentKeyResponse(bytes), for: request)
        }
    }

    // MARK: The exchange

    /// Key IDs of one request, at most.
    private static let keyIDLimit = 64

    /// Sends the request for a key, and returns the response of the key server.
    private func exchange(_ request: ContentKeyRequest, _ route: KeyRoute) async throws(ContentKeyError) -> [UInt8] {
        let ids = route == .license ? keyIDs(of: request) : []
        do throws(ContentKeyError) {
            return try await exchangeOnce(request, route, ids)
        } catch {
            // a key that the token does not list must not stop the others
            guard ids.count > 1, error.code == .missingKey else { throw error }
            return try await exchangeOnce(request, route, Array(ids.prefix(1)))
        }
    }

    /// The IDs of the requested key and, after it, of the other keys of the asset.
    private func keyIDs(of request: ContentKeyRequest) -> [String] {
        guard let own = request.identifier.keyID, request.identifier.hasKeyIDName || !request.identifier.isOfOrder else {
            return []
        }
        var ids = [own]
        let others =
            (assets[request.asset]?.asset.keys ?? []) + requests.keys.filter { $0.asset == request.asset }.map(\.identifier)
        for identifier in others where ids.count < Self.keyIDLimit && !identifier.isOfOrder {
            if let id = identifier.keyID, !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    private func exchangeOnce(
        _ request: ContentKeyRequest,
        _ route: KeyRoute,
        _ keyIDs: [String]
    ) async throws(ContentKeyError) -> [UInt8] {
        switch route {
        case .license: return try await licenseResponse(request, keyIDs)
        case .address(let url):
            _ = try await makeRequestData(request, by: route, [], "", [], [1])
            log.write("sending key request", request.identifier, [.init("url", .url(url))])
            let response = try await server.request(url)
            log.writeResponse(request.identifier, status: 200, fields: [])
            sent[request.id]?.response = response
            return response.key.withBytes { [UInt8](copying: $0) }
        case .clearKey(let url, _):
            let data = try await makeRequestData(request, by: route, [], "", [], [1])
            log.write("sending key request", request.identifier, [.init("url", .url(url))])
            let response: MediaHTTPResponse
            do {
                response = try await client.post(url, body: data.body ?? [], fields: data.fields, limit: 64 << 10)
            } catch {
                throw ContentKeyError(.network, "the license server gave no usable response")
            }
            log.writeResponse(request.identifier, status: response.status, fields: response.fields.map { ($0.name, $0.value) })
            guard response.status == 200 else {
                let code: ContentKeyError.Code = response.status >= 500 || response.status == 429 ? .network : .refused
                throw ContentKeyError(code, "the license server returned status \(response.status)")
            }
            return response.body
        }
    }

    /// The response of the license server: certificate, request data, response.
    private func licenseResponse(_ request: ContentKeyRequest, _ keyIDs: [String]) async throws(ContentKeyError) -> [UInt8] {
        let engine = try player()
        if let url = options.licenseServer {
            do throws(PlayerError) { try await engine.requireOwnService(url) } catch {
                throw ContentKeyError(error, key: request.identifier.description)
            }
        }
        if request.kind != .renewing, token == nil { throw try await missingToken(request) }
        let certificate = try await serviceCertificate()
        log.write("preparing key request data", request.identifier, [.init("keys", .number(keyIDs.count))])
        _ = try await makeRequestData(request, by: .license, certificate, "", keyIDs, KeyRequest.versions)
        guard let data = sent[request.id]?.data else { throw ContentKeyError(.state, "the request is not open") }
        log.write("sending key request to the license server", request.identifier)
        do throws(PlayerError) {
            let (text, status, fields) = try await engine.send(data, to: options.licenseServer)
            log.writeResponse(request.identifier, status: status, fields: fields)
            if request.kind != .renewing { noteToken(nil) }
            let response = try await engine.read(text, for: data)
            if request.status != .requestingResponse, !response.isStorable {
                // cancelled meanwhile: the slot of the stream is given back
                try await engine.hold(response)
                if !heldLicenses.contains(response.licenseID) { await engine.endUnused(response.licenseID) }
            }
            if let end = response.end, try await engine.judgingTime().instant >= end {
                throw PlayerError(.ended, "the license in the response has already ended", reason: .expiredStorage)
            }
            return Array(text.utf8)
        } catch {
            let failure = ContentKeyError(error, key: request.identifier.description)
            if request.kind != .renewing, error.code == .token || error.code == .ended { noteToken(failure) }
            guard error.code == .ended, error.serverCode == nil, request.attempt == 0 else { throw failure }
            throw ContentKeyError(Self.endedInResponse, error.message, key: request.identifier.description)
        }
    }
}

extension ContentKeySession {
    /// Why a key has no license, if the session has no token either.
    private func missingToken(_ request: ContentKeyRequest) async throws(ContentKeyError) -> ContentKeyError {
        let key = request.identifier.description
        if try await hasLicense(request.identifier) {
            return ContentKeyError(.expired, "the license of the key has ended, and there is no token for another one", key: key)
        }
        return ContentKeyError(.unknownKey, "there is no license for this key, and no token to get one", key: key)
    }
}

extension ContentKeyIdentifier {
    /// Whether it is the key of an order, whose license has one key whatever its number.
    var isOfOrder: Bool { addresses.contains { $0.lowercased().hasPrefix("offline:") } }
}
