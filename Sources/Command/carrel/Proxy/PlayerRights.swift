// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelProxy
import CarrelRights
import CarrelThreads

/// Redeems the tokens of MS3 addresses with the player of this device, whose license controls every key.
struct PlayerRights: RightsSource {
    private let engine: PlayerEngine

    init(_ engine: PlayerEngine) {
        self.engine = engine
    }

    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        let session: LicenseSession
        let isOpen: Bool
        do throws(PlayerError) {
            let redeemed = try await engine.process(url.text)
            session = try await engine.begin(redeemed.contentID)
            isOpen = try await engine.check(redeemed.contentID, needsOpenOutput: true).result.isGranted
        } catch {
            return error.isRetryable ? .unavailable(error.message) : .refused(error.message)
        }
        let end = LicenseEnd(session)
        var rights = StreamRights(keys: LicensedKeys(session), extensions: isOpen ? [.openOutput] : []) {
            end.stop()
            await session.stop()
        }
        rights.renewedEnd = { end.value }
        return .granted(rights)
    }
}

/// When a license ends, which moves as the license of a stream is renewed.
private final class LicenseEnd: Sendable {
    private let end: Locked<Instant?>
    private let following: Locked<Task<Void, Never>?>

    /// How often the license is decided again: a lease is renewed before it ends.
    private static let interval = Duration.seconds(2)

    init(_ session: LicenseSession) {
        let end = Locked(session.result.until)
        self.end = end
        following = Locked(
            Task.detached {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.interval)
                    // a decision that cannot be made now leaves the last one
                    guard let result = try? await session.check() else { continue }
                    end.withLock { $0 = result.isGranted ? result.until : min($0 ?? .now(), .now()) }
                }
            }
        )
    }

    var value: Instant? { end.withLock { $0 } }

    func stop() { following.withLock { $0?.cancel() } }
}

/// The keys of a license, each while the license allows its use.
private struct LicensedKeys: ContentKeySource {
    private let session: LicenseSession

    init(_ session: LicenseSession) {
        self.session = session
    }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard let id = keyID(name) else { return .unknown }
        do throws(PlayerError) {
            // the rights have the end, which moves
            return .granted(ContentKeyGrant(key: try await session.key(id)))
        } catch {
            return .refused(error.message)
        }
    }

    /// The key that a name means: by its id, by an alias of that, or the only key of the license's own content.
    private func keyID(_ name: ContentKeyName) -> KeyID? {
        let known = session.keyIDs
        switch name {
        case .id(let bytes):
            let text = Hex.encode(bytes)
            return known.contains(text) ? KeyID(hex: text) : nil
        case .content(let content):
            let prefix = "urn:marlin:kid:"
            if content.lowercased().hasPrefix(prefix) {
                let text = content.dropFirst(prefix.utf8.count).lowercased()
                if known.contains(text) { return KeyID(hex: text) }
            }
            return content == session.contentID ? only : nil
        case .group, .address: return nil
        // the file format does not identify its content; the license address does
        case .track: return only
        @unknown default: return nil
        }
    }

    private var only: KeyID? { session.keyIDs.count == 1 ? session.keyIDs.first.flatMap { KeyID(hex: $0) } : nil }
}
