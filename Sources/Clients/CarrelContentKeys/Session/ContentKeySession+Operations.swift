// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelPlayer
import CarrelReader
import CarrelRights

/// The operations of requests.
extension ContentKeySession {
    /// The service's certificate: fetched once, and checked under the player's root.
    ///
    /// - Returns: the certificate in DER.
    /// - Throws: `keys.certificate`, `keys.not-personalized`, `keys.network`.
    public func serviceCertificate() async throws(ContentKeyError) -> [UInt8] {
        if let certificate { return certificate }
        log.write("service certificate missing, requesting it")
        let engine = try player()
        do throws(PlayerError) {
            let bytes = try await engine.serviceCertificate(at: options.certificateURL)
            certificate = bytes
            let until = (try? Certificate(der: bytes))?.validity?.upperBound
            log.write(
                "service certificate received",
                nil,
                [.init("bytes", .number(bytes.count))] + (until.map { [.init("until", .name("\($0)"))] } ?? [])
            )
            return bytes
        } catch {
            let code = error.code == .rejected ? ContentKeyError.Code.certificate : nil
            throw code.map { ContentKeyError($0, error.message, playerError: error) } ?? ContentKeyError(error)
        }
    }

    func player() throws(ContentKeyError) -> PlayerEngine {
        guard let engine else { throw ContentKeyError(.notPersonalized, "the key needs a player, and the session has none") }
        return engine
    }

    /// Answers an online request by asking for a persistable one, which the session then provides.
    ///
    /// - Parameter request: the online request.
    /// - Throws: `keys.not-storable` if keys are not stored; `keys.state` for another kind of request.
    public func respondByRequestingPersistableKey(to request: ContentKeyRequest) async throws(ContentKeyError) {
        guard request.kind == .online, request.status == .requestingResponse else {
            throw ContentKeyError(.state, "only an open online request can ask for a persistable key")
        }
        guard engine != nil else { throw ContentKeyError(.notStorable, "without a player's folder, keys are not stored") }
        log.write("initiating persistable key request", request.identifier)
        assets[request.asset]?.persistable.insert(request.identifier)
        _ = try make(request.identifier, .persistable, asset: request.asset, attempt: request.attempt)
        finish(request, .retried)
    }

    /// Makes the data to send to the key server: for a license, the request that is encrypted to the service's certificate.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - certificate: the service's certificate in DER, which the player's root must have issued; unused by other key servers.
    ///   - contentIdentifier: the content ID; empty for the content of the token.
    ///   - keyIDs: the requested keys, 32 hexadecimal digits each, at most 64; empty for all keys of the content.
    ///   - versions: versions of the protocol, of which the highest common one is used.
    /// - Returns: the data, and their destination.
    /// - Throws: ``ContentKeyError``.
    public func makeRequestData(
        for request: ContentKeyRequest,
        certificate: [UInt8],
        contentIdentifier: String = "",
        keyIDs: [String],
        versions: [Int] = [1]
    ) async throws(ContentKeyError) -> ContentKeyRequestData {
        let isPersistable = request.kind == .persistable
        let route = request.license == nil ? try await routes(of: request.identifier, isPersistable: isPersistable)[0] : .license
        return try await makeRequestData(request, by: route, certificate, contentIdentifier, keyIDs, versions)
    }

    func makeRequestData(
        _ request: ContentKeyRequest,
        by route: KeyRoute,
        _ certificate: [UInt8],
        _ contentIdentifier: String,
        _ keyIDs: [String],
        _ versions: [Int]
    ) async throws(ContentKeyError) -> ContentKeyRequestData {
        guard request.status == .requestingResponse else { throw ContentKeyError(.state, "the request is not open") }
        let isPersistable = request.kind == .persistable
        switch route {
        case .address(let url):
            sent[request.id] = SentRequest(route: route)
            return ContentKeyRequestData(body: nil, url: url, fields: server.fields(for: url))
        case .clearKey(let url, let id):
            sent[request.id] = SentRequest(route: route)
            return ContentKeyRequestData(
                body: ClearKeyServer.body([id], isPersistent: isPersistable),
                url: url,
                fields: [MediaHTTPField("Content-Type", "application/json"), MediaHTTPField("Accept", "application/json")]
                    + server.fields(for: url)
            )
        case .license:
            let engine = try player()
            var ids: [KeyID] = []
            for text in keyIDs {
                guard let id = KeyID(hex: text) else {
                    throw ContentKeyError(.state, "a key id of the request is not 32 hexadecimal digits")
                }
                ids.append(id)
            }
            do throws(PlayerError) {
                if let url = options.licenseServer { try await engine.requireOwnService(url) }
                let data = try await engine.makeKeyRequest(
                    request.kind == .renewing ? .renew : isPersistable ? .persist : .stream,
                    certificate: certificate,
                    contentID: contentIdentifier,
                    keyIDs: ids,
                    versions: versions,
                    token: request.kind == .renewing ? nil : try licenseToken(),
                    license: request.license
                )
                sent[request.id] = SentRequest(route: route, data: data)
                let base = await engine.service ?? ""
                var fields = [MediaHTTPField("Content-Type", "application/jose"), MediaHTTPField("Accept", "application/jose")]
                if let message = data.message { fields.append(MediaHTTPField("X-AxDRM-Message", message)) }
                return ContentKeyRequestData(
                    body: Array(data.text.utf8),
                    url: options.licenseServer ?? base + "/v1/license",
                    fields: fields
                )
            } catch {
                throw ContentKeyError(error, key: request.identifier.description)
            }
        }
    }

    private func licenseToken() throws(PlayerError) -> String {
        guard let token else { throw PlayerError(.token, "there is no token for the license of the key") }
        return token
    }

    /// The verified response of the license server for a request.
    private func read(_ bytes: [UInt8], for request: ContentKeyRequest) async throws(ContentKeyError) -> PlayerEngine.KeyResponse
    {
        guard let data = sent[request.id]?.data else {
            throw ContentKeyError(.state, "the request data of this request were not made")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ContentKeyError(
                .response,
                "the response of the license server is not text",
                key: request.identifier.description
            )
        }
        do throws(PlayerError) { return try await player(data, text) } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
    }

    private func player(_ data: PlayerEngine.KeyRequestData, _ text: String) async throws(PlayerError) -> PlayerEngine.KeyResponse
    {
        guard let engine else { throw PlayerError(.notPersonalized, "the session has no player") }
        return try await engine.read(text, for: data)
    }

    /// Makes a persistable key from the response of the key server. Nothing is stored yet.
    ///
    /// - Parameters:
    ///   - request: the persistable or renewing request, whose data were made.
    ///   - bytes: the bytes of the response.
    /// - Returns: the key, verified.
    /// - Throws: ``ContentKeyError``; `keys.not-storable` for the license of a stream.
    public func makePersistableKey(
        for request: ContentKeyRequest,
        from bytes: [UInt8]
    ) async throws(ContentKeyError) -> PersistableContentKey {
        guard request.kind != .online else { throw ContentKeyError(.notStorable, "the key of an online request is not stored") }
        guard let sent = sent[request.id] else {
            throw ContentKeyError(.state, "the request data of this request were not made")
        }
        let name =
            request.identifier.savedNames(among: assets[request.asset]?.asset.keys ?? []).first
            ?? request.identifier.names[0].savedText ?? ""
        switch sent.route {
        case .license:
            let response = try await read(bytes, for: request)
            guard response.isStorable else {
                throw ContentKeyError(
                    .notStorable,
                    "the license is for a stream: it is not kept",
                    key: request.identifier.description
                )
            }
            return PersistableContentKey(content: .response(response))
        case .clearKey(let url, let id):
            let key = try ClearKeyServer.key(in: bytes, id)
            return PersistableContentKey(content: .row(SavedKeyRow(name: name, kind: .clearKey, key: key, url: url)))
        case .address(let url):
            guard bytes.count == 16 || bytes.count == 32 else {
                throw ContentKeyError(.response, "the key server returned \(bytes.count) bytes, and keys have 16 or 32")
            }
            let response = sent.response
            let isOfOrder = response?.isOfOrder ?? false
            return PersistableContentKey(
                content: .row(
                    SavedKeyRow(
                        name: name,
                        kind: isOfOrder ? .order : .server,
                        key: response?.key ?? Secret(bytes),
                        until: response?.orderEnd,
                        renewAt: isOfOrder ? try await renewalTime(response?.orderEnd) : nil,
                        url: response?.url ?? url
                    )
                )
            )
        }
    }

    /// When the end of an order is requested again: half of the time before it, at most a day.
    func renewalTime(_ end: Instant?) async throws(ContentKeyError) -> Instant {
        let now: Instant
        let engine = try player()
        do throws(PlayerError) { now = try await engine.judgingTime().instant } catch { throw ContentKeyError(error) }
        let day = Duration.seconds(86_400)
        guard let end else { return now + day }
        return now + max(.seconds(60), min(day, (end - now) / 2))
    }

    /// Writes a persistable key. It is on the disk before this returns.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - request: its request.
    /// - Throws: `keys.store`; `keys.refused` for a key without a license if the asset is not saved; `keys.state` if the request is
    ///   not open any more, because its asset was removed or the session has ended.
    public func store(_ key: PersistableContentKey, for request: ContentKeyRequest) async throws(ContentKeyError) {
        try requireOpen(request)
        switch key.content {
        case .response(let response): try await store(response, for: request)
        case .license(let id): try await noteLicense(id, for: request)
        case .row(let row): try await store(row, for: request)
        }
        log.write("persistable key written", request.identifier)
        report(.stored(request))
    }

    private func requireOpen(_ request: ContentKeyRequest) throws(ContentKeyError) {
        guard request.status == .requestingResponse else { throw ContentKeyError(.state, "the request is not open") }
    }

    /// Stores a license. The rows of the item come first: no license is in the store without the item that needs it.
    private func store(_ response: PlayerEngine.KeyResponse, for request: ContentKeyRequest) async throws(ContentKeyError) {
        let engine = try player()
        try await noteLicense(response.licenseID, for: request)
        try requireOpen(request)
        let asset = assets[request.asset]?.asset
        let isNoted = asset.map { $0.isSaved && !request.identifier.savedNames(among: $0.keys).isEmpty } ?? false
        do throws(PlayerError) {
            let isNew = try await engine.licenses().license(response.licenseID) == nil
            try await engine.store(response)
            // the item may have been removed meanwhile
            if isNoted, isNew { await removeUnused(response.licenseID) }
        } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        try requireOpen(request)
    }

    private func noteLicense(_ id: String, for request: ContentKeyRequest) async throws(ContentKeyError) {
        do throws(PlayerError) { try await note(license: id, for: request) } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
    }

    /// Stores the key of a server as a row of the item.
    private func store(_ row: SavedKeyRow, for request: ContentKeyRequest) async throws(ContentKeyError) {
        let engine = try player()
        do throws(PlayerError) {
            guard let asset = assets[request.asset]?.asset, asset.isSaved else {
                throw PlayerError(.rejected, "a key without a license is stored for a saved item only")
            }
            let rows = request.identifier.savedNames(among: asset.keys).map { name in
                SavedKeyRow(
                    name: name,
                    kind: row.kind,
                    key: row.key,
                    until: row.until,
                    renewAt: row.renewAt,
                    url: row.url
                )
            }
            let store = try await engine.savedItems()
            try await store.put(rows, ofItem: asset.id)
            // the item may have been removed meanwhile
            if request.status == .cancelled, assets[asset.id] == nil {
                for row in rows { try await store.removeKey(row.name, ofItem: asset.id) }
            }
        } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        try requireOpen(request)
    }

    /// Notes that a saved item needs a license. A renewal has its rows already: what was removed meanwhile stays removed.
    private func note(license: String, for request: ContentKeyRequest) async throws(PlayerError) {
        guard request.kind != .renewing, let engine, let asset = assets[request.asset]?.asset, asset.isSaved else { return }
        let rows = request.identifier.savedNames(among: asset.keys).map {
            SavedKeyRow(name: $0, kind: .license, license: license)
        }
        let store = try await engine.savedItems()
        try await store.put(rows, ofItem: asset.id)
        // the item may have been removed meanwhile
        guard request.status == .cancelled, assets[asset.id] == nil else { return }
        for row in rows { try await store.removeKey(row.name, ofItem: asset.id) }
    }

    /// Makes a response available to the stream.
    ///
    /// - Parameters:
    ///   - response: the response of the key server, or a persistable key.
    ///   - request: the request, which is answered by that.
    /// - Throws: ``ContentKeyError`` if the response is refused; the request is then still open.
    public func process(_ response: ContentKeyResponse, for request: ContentKeyRequest) async throws(ContentKeyError) {
        guard request.status == .requestingResponse else { throw ContentKeyError(.state, "the request is not open") }
        switch response.content {
        case .persistable(let key):
            log.write("creating response from persistable key", request.identifier)
            if case .row(let row) = key.content, let secret = row.key {
                addGrant(ContentKeyGrant(key: secret, end: try await end(of: row)), for: request.identifier)
            } else {
                useLicenses()
            }
        case .bytes(let bytes):
            guard let sent = sent[request.id] else {
                throw ContentKeyError(.state, "the request data of this request were not made")
            }
            log.write("creating response from the server's", request.identifier)
            switch sent.route {
            case .license: try await take(try await read(bytes, for: request), for: request)
            case .clearKey(_, let id):
                addGrant(ContentKeyGrant(key: try ClearKeyServer.key(in: bytes, id)), for: request.identifier)
            case .address:
                guard bytes.count == 16 || bytes.count == 32 else {
                    throw ContentKeyError(.response, "the key server returned \(bytes.count) bytes, and keys have 16 or 32")
                }
                addGrant(
                    ContentKeyGrant(key: sent.response?.key ?? Secret(bytes), end: sent.response?.orderEnd),
                    for: request.identifier
                )
            }
        }
        // it may have been cancelled meanwhile
        guard request.status == .requestingResponse else { throw ContentKeyError(.state, "the request is not open") }
        log.write("providing response", request.identifier)
        complete(request)
    }

    /// The end of a saved key without a license, by the trusted time: a clock that is set back extends nothing.
    private func end(of row: SavedKeyRow) async throws(ContentKeyError) -> ContentKeyEnd {
        guard let until = row.until, let engine else { return ContentKeyEnd(row.until) }
        let time: TrustedClock.Reading
        do throws(PlayerError) { time = try await engine.judgingTime() } catch { throw ContentKeyError(error) }
        let end = ContentKeyEnd(await engine.deviceTime(of: until))
        if let obstacle = SavedKeyState.obstacle(of: row, at: time) { end.end(obstacle.words) }
        return end
    }

    /// Takes the license of a stream, or of a renewal.
    private func take(_ response: PlayerEngine.KeyResponse, for request: ContentKeyRequest) async throws(ContentKeyError) {
        try requireKey(of: request, in: response)
        let engine = try player()
        do throws(PlayerError) {
            if response.isStorable, request.kind != .online {
                try await engine.store(response)
            } else {
                try await engine.hold(response)
                if request.status == .requestingResponse {
                    heldLicenses.insert(response.licenseID)
                } else if !heldLicenses.contains(response.licenseID) {
                    await engine.endUnused(response.licenseID)
                }
            }
        } catch {
            throw ContentKeyError(error, key: request.identifier.description)
        }
        useLicenses()
    }

    /// Refuses a license without the requested key.
    func requireKey(of request: ContentKeyRequest, in response: PlayerEngine.KeyResponse) throws(ContentKeyError) {
        guard let id = request.identifier.keyID, !response.keyIDs.contains(id) else { return }
        throw ContentKeyError(.missingKey, "the license has no key with this id", key: request.identifier.description)
    }

    private func addGrant(_ grant: ContentKeyGrant, for identifier: ContentKeyIdentifier) {
        for name in identifier.names {
            // several files have the same track numbers
            if case .track = name, identifier.names.count > 1 { continue }
            grants[name] = grant
        }
    }

    /// Ends a request without a key.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - request: the request.
    public func process(_ error: ContentKeyError, for request: ContentKeyRequest) async {
        guard request.status == .requestingResponse else { return }
        var error = error
        error.key = error.key ?? request.identifier.description
        log.write("key delivery failed", request.identifier, [.init("error", .code(of: error))])
        assets[request.asset]?.persistable.remove(request.identifier)
        finish(request, .failed, error)
        report(.failed(request, error))
        await noteFailure(request, error)
    }

    /// Notes that a key is available, and reports once that all keys of the asset are.
    private func complete(_ request: ContentKeyRequest) {
        let isRenewal = request.kind == .renewing
        finish(request, isRenewal ? .renewed : .receivedResponse)
        report(isRenewal ? .renewed(request) : .available(request))
        assets[request.asset]?.persistable.remove(request.identifier)
        assets[request.asset]?.available.insert(request.identifier)
        guard let keys = assets[request.asset], !keys.isReported, !keys.asset.keys.isEmpty,
            keys.asset.keys.allSatisfy(keys.available.contains)
        else { return }
        assets[request.asset]?.isReported = true
        log.write("all keys available", nil, [.init("keys", .number(keys.asset.keys.count))])
        report(.allKeysAvailable(request.asset))
    }
}
