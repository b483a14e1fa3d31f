// SPDX-License-Identifier: Apache-2.0

import CarrelContentKeys
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelReader

/// Saves all keys of a film, before its media. Returns a message for the user if a key is not available.
func saveKeys(of film: String, _ keys: [ContentKeyIdentifier], token: String, with engine: PlayerEngine) async -> String? {
    var options = ContentKeySession.Options()
    options.licenseToken = token
    let session = ContentKeySession(engine, options)
    do throws(ContentKeyError) {
        try await session.persist(keys, item: film)
        return nil
    } catch {
        return error.isRetryable ? "try again later: \(error)" : "\(error)"
    }
}

/// Whether a saved film can be played now, as words for a list.
func standing(ofSaved film: String, with engine: PlayerEngine) async throws -> String {
    let state = try await engine.savedKeyState(of: film)
    switch state.obstacle {
    case nil: return state.until.map { "until \($0)" } ?? "without an end"
    case .expired?: return "expired: renew it"
    case .clockRollback?: return "the clock of this device was set back"
    case let obstacle?: return obstacle.rawValue
    }
}

/// Renews what is due, and removes what the reader deletes.
func maintain(_ films: [String], deleting deleted: [String], with engine: PlayerEngine) async throws {
    let session = ContentKeySession(engine)
    for film in films { try await session.renewIfDue(item: film) }
    for film in deleted { try await session.invalidatePersistableKeys(item: film) }
}

/// Follows the keys of a stream: returns once all of them are available.
func waitForAllKeys(of film: String, in session: ContentKeySession) async {
    for await event in session.events {
        switch event {
        case .allKeysAvailable(film): return
        case .failed(let request, let error): print("\(request.identifier): \(error)")
        default: continue
        }
    }
}

/// A delegate that sends the requests of licenses itself, for example through the app's own network stack.
struct OwnNetwork: ContentKeySessionDelegate {
    let client: any MediaHTTPClient

    func contentKeySession(_ session: ContentKeySession, didProvide request: ContentKeyRequest) async {
        do {
            let certificate = try await session.serviceCertificate()
            let data = try await session.makeRequestData(
                for: request,
                certificate: certificate,
                keyIDs: [request.identifier.keyID].compactMap(\.self)
            )
            let response = try await client.post(data.url, body: data.body ?? [], fields: data.fields, limit: 1 << 20)
            try await session.process(ContentKeyResponse(response.body), for: request)
        } catch let error as ContentKeyError {
            await session.process(error, for: request)
        } catch {
            await session.process(.failed("the key server gave no response"), for: request)
        }
    }

    func contentKeySession(_ session: ContentKeySession, didProvidePersistable request: ContentKeyRequest) async {
        do {
            let certificate = try await session.serviceCertificate()
            let data = try await session.makeRequestData(for: request, certificate: certificate, keyIDs: [])
            let response = try await client.post(data.url, body: data.body ?? [], fields: data.fields, limit: 1 << 20)
            let key = try await session.makePersistableKey(for: request, from: response.body)
            try await session.store(key, for: request)
            try await session.process(ContentKeyResponse(key), for: request)
        } catch let error as ContentKeyError {
            await session.process(error, for: request)
        } catch {
            await session.process(.failed("the key server gave no response"), for: request)
        }
    }
}
