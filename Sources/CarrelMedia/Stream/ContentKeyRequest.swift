import CarrelCrypto
package import CarrelDCF

/// The key of content that is named by content id, or wrapped under the key of a group: OMA, Marlin, ISMACryp.
///
/// A source is asked for the content id, then for the group's key, then for the track.
package struct ContentKeyRequest: Sendable {
    /// The content id; nil where the format has none.
    package let contentID: String?
    /// The group's id, empty where the file does not name it; nil where there is no group.
    package let groupID: String?
    /// The track, or the number of a DCF's object, from 1.
    package let track: UInt32
    private let unwrap: @Sendable (Secret) throws(CryptoError) -> Secret

    /// The key of a track.
    ///
    /// - Parameters:
    ///   - protection: the track's.
    ///   - track: its id.
    package init(_ protection: SampleProtection, track: UInt32) {
        contentID = protection.contentID
        groupID = protection.groupID
        self.track = track
        unwrap = { groupKey throws(CryptoError) in try protection.contentKey(under: groupKey) }
    }

    /// The key of an object of a DCF.
    ///
    /// - Parameters:
    ///   - headers: the object's.
    ///   - number: its place in the file, from 1.
    package init(_ headers: DCFHeaders, object number: Int) {
        contentID = headers.contentID
        groupID = headers.groupKey?.groupID
        track = UInt32(clamping: number)
        let wrapped = headers.groupKey
        unwrap = { groupKey throws(CryptoError) in
            guard let wrapped else { throw CryptoError(.key, "the object has no wrapped content key") }
            return try wrapped.unwrap(under: groupKey)
        }
    }

    /// Asks for the key.
    ///
    /// - Parameter source: has the keys.
    /// - Returns: the grant of the content key, unwrapped where the source has the group's key.
    /// - Throws: `media.missing-key`, `media.refused-key`; `media.wrong-key` when the group's key does not unwrap it.
    package func grant(from source: some ContentKeySource) async throws(MediaError) -> ContentKeyGrant {
        if let contentID, !contentID.isEmpty, let grant = try await ask(.content(contentID), source) { return grant }
        if let groupID {
            var groups = [ContentKeyName.group(groupID)]
            if !groupID.isEmpty { groups.append(.group("")) }
            for name in groups {
                guard var grant = try await ask(name, source) else { continue }
                do throws(CryptoError) { grant.key = try unwrap(grant.key) } catch { throw MediaError(.wrongKey, "\(words): \(error)") }
                return grant
            }
        }
        guard let grant = try await ask(.track(track), source) else { throw MediaError(.missingKey, "no key is given for \(words)") }
        return grant
    }

    private func ask(_ name: ContentKeyName, _ source: some ContentKeySource) async throws(MediaError) -> ContentKeyGrant? {
        switch await source.key(name) {
        case .granted(let grant): return grant
        case .pending: throw MediaError(.missingKey, "the license for \(words) is not there yet")
        case .refused(let reason): throw MediaError(.refusedKey, "the key for \(words) is refused: \(reason)")
        case .unknown: return nil
        }
    }

    private var words: String {
        guard let contentID, !contentID.isEmpty else { return "track \(track)" }
        return "content id \(contentID)"
    }
}
