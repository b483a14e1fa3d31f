// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelMP4

/// Decrypts the samples of one track with Common Encryption in place, with one cipher per key.
///
/// It has one owner: its ciphers keep state from sample to sample.
package final class TrackDecrypter {
    /// The track.
    package let track: MP4Track
    /// Its keys.
    package var keys: ContentKeys
    private var ciphers: [Int: KeyedCiphers] = [:]

    /// The ciphers of one description of the track.
    private final class KeyedCiphers {
        let scheme: CommonEncryptionScheme
        /// The current key; the ciphers of earlier keys are kept too. Few files alternate keys, and then between few.
        private var key: KeyID?
        private var cipher: SampleCipher?
        private var digest: [UInt8] = []
        private var isVerified = false
        private var check: ClearSampleCheck
        private var tail: CounterTail?

        init(_ scheme: CommonEncryptionScheme, _ entry: SampleEntry) {
            self.scheme = scheme
            check = ClearSampleCheck(entry)
            if scheme == .cens, case .aac = entry.codec { tail = CounterTail() }
        }

        func apply(
            to bytes: inout MutableRawSpan,
            in range: Range<Int>,
            _ parameters: SampleEncryption,
            _ keys: ContentKeys,
            track: UInt32
        ) throws {
            if cipher == nil || key != parameters.keyID {
                let secret = try keys.key(parameters.keyID, track: track)
                cipher = try SampleCipher(scheme, key: secret)
                key = parameters.keyID
                digest = keys.use(secret, key, track: track)
                isVerified = false
                check.restart()
            }
            tail?.save(bytes.bytes.extracting(range), parameters)
            try cipher?.apply(to: &bytes, in: range, parameters)
            tail?.restore(in: &bytes, range)
            if let fault = check.fault(of: bytes.bytes.extracting(range), parameters) {
                throw keys.wrongKey(parameters.keyID, track: track, fault)
            }
            if !isVerified, check.isVerified {
                isVerified = true
                keys.evidence.verify(digest)
            }
        }
    }

    /// - Parameters:
    ///   - track: a track with Common Encryption entries.
    ///   - keys: its keys.
    /// - Throws: `unsupported` if one of its descriptions has another protection.
    package init(_ track: MP4Track, keys: ContentKeys) throws(MediaError) {
        self.track = track
        self.keys = keys
        for (number, entry) in track.entries.enumerated() {
            guard let protection = entry.protection else { continue }
            if let fault = entry.encryptionFault { throw MediaError(track, fault) }
            guard let encryption = entry.encryption, let scheme = CommonEncryptionScheme(protection, encryption) else {
                throw MediaError(.unsupported, "track \(track.id) is protected by \(protection)")
            }
            ciphers[number] = KeyedCiphers(scheme, entry)
        }
    }

    /// The parameters of the description that a sample has; nil if that is a clear one.
    package func defaults(of sample: MP4Sample) throws(MediaError) -> TrackEncryption? {
        guard sample.entry < track.entries.count else {
            throw MediaError(.malformed, "track \(track.id) has no sample description \(sample.entry + 1)")
        }
        return track.entries[sample.entry].encryption
    }

    /// Decrypts a sample.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the sample.
    ///   - range: the range of the sample.
    ///   - sample: the sample's table entry.
    ///   - parameters: how it is encrypted.
    /// - Throws: `missingKey`; `wrongKey` if the samples so far prove it; `Malformed` with the offset in the file.
    package func decrypt(
        _ bytes: inout MutableRawSpan,
        in range: Range<Int>,
        _ sample: MP4Sample,
        _ parameters: SampleEncryption
    ) throws {
        guard parameters.isProtected, let ciphers = ciphers[sample.entry] else { return }
        do {
            try ciphers.apply(to: &bytes, in: range, parameters, keys, track: track.id)
        } catch let error as Malformed {
            throw Malformed(error.what, at: Int(sample.offset) + error.offset)
        }
    }

    /// Requests all keys of a file's Common Encryption tracks.
    ///
    /// - Parameters:
    ///   - file: the file; its fragments are searched for keys.
    ///   - source: the key source.
    /// - Returns: the keys.
    /// - Throws: `missingKey`, `refusedKey`; the errors of the reader, and `Malformed`.
    package static func keys(of file: MP4File, from source: some ContentKeySource) async throws -> ContentKeys {
        var keys = ContentKeys()
        for (track, id) in try file.keyIDs(of: file.tracks) { try await keys.resolve(id, track: track, from: source) }
        return keys
    }
}
