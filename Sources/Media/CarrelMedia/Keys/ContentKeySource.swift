// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelCrypto

/// A content key as a file or a playlist names it.
@nonexhaustive
public enum ContentKeyName: Sendable, Hashable {
    /// The 16 bytes of a key id (`KID`, ISO/IEC 23001-7 §8.2).
    case id([UInt8])
    /// A content id, as OMA, Marlin and ISMA files have it.
    case content(String)
    /// A track of a file, whose format names its keys no better.
    case track(UInt32)
    /// A group key that wraps content keys, by the group's ID (OMA DRM Content Format 2.0 §5.4); empty if the file names none.
    case group(String)
    /// A key line of a playlist: the address of the key, resolved (RFC 8216 §4.3.2.4).
    case address(String)
}

/// A key, and the terms on which it may be used.
public struct ContentKeyGrant: Sendable {
    /// 16 bytes, or 32 if the cipher has 256-bit keys.
    package var key: Secret
    /// Whether the output may be a plain byte stream, without the output controls that the license requires by default.
    public var relaxesOutput: Bool
    /// The pixels of a picture, at most; nil if there is no limit. Larger pictures, and pictures of unknown size, are not decrypted.
    public var maxPixels: Int?
    /// When it ends, which may change while the key is in use.
    public var end: ContentKeyEnd
    /// Whether a DCF must have tags that protect it from change, as the licenses for titles require.
    package var requiresTags = false
    /// Whether a caller passed the key in, so that no license states its terms.
    package var isGiven = false
    /// Whether a license has it, so that keys which the license lacks withhold their renditions.
    package var isLicensed = false

    package init(key: Secret, relaxesOutput: Bool = true, maxPixels: Int? = nil, end: ContentKeyEnd) {
        self.key = key
        self.relaxesOutput = relaxesOutput
        self.maxPixels = maxPixels
        self.end = end
    }

    package init(key: Secret, relaxesOutput: Bool = true, end: Instant? = nil) {
        self.init(key: key, relaxesOutput: relaxesOutput, end: ContentKeyEnd(end))
    }

    /// Creates a grant for a key in the memory of an app.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, or 32 if the cipher has 256-bit keys. The copy here is wiped when it is released.
    ///   - relaxesOutput: whether the output may be a plain byte stream.
    ///   - end: when the key expires; nil if it does not.
    public init(key: [UInt8], relaxesOutput: Bool = true, end: Instant? = nil) {
        self.init(key: Secret(key), relaxesOutput: relaxesOutput, end: end)
    }

    /// Creates a grant whose end can change while the key is in use.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, or 32 if the cipher has 256-bit keys. The copy here is wiped when it is released.
    ///   - relaxesOutput: whether the output may be a plain byte stream.
    ///   - maxPixels: the pixels of a picture, at most; nil if there is no limit.
    ///   - end: when the key ends.
    public init(key: [UInt8], relaxesOutput: Bool = true, maxPixels: Int? = nil, end: ContentKeyEnd) {
        self.init(key: Secret(key), relaxesOutput: relaxesOutput, maxPixels: maxPixels, end: end)
    }

    /// Checks that the key may be used for pictures of a size.
    ///
    /// - Parameters:
    ///   - pixels: the pixels of a picture; nil if their number is not known.
    ///   - words: the content, in words.
    /// - Throws: `outputControl` if the license allows smaller pictures only.
    package func checkPictures(_ pixels: Int?, _ words: @autoclosure () -> String) throws(MediaError) {
        guard let maxPixels, pixels ?? .max > maxPixels else { return }
        let size = pixels.map { "they have \($0)" } ?? "their size is not known"
        throw MediaError(
            .outputControl,
            "the license for \(words()) allows pictures of at most \(maxPixels) pixels, and \(size)"
        )
    }

    /// Checks that the key may be used for plain files now.
    ///
    /// - Parameters:
    ///   - words: its purpose, in words.
    ///   - now: the time.
    /// - Throws: `outputControl`, `expiredKey`, `refusedKey`.
    package func checkPlainOutput(_ words: String, at now: Instant) throws(MediaError) {
        guard relaxesOutput else {
            throw MediaError(
                .outputControl,
                "the license for \(words) asks for output controls, which a plain file does not have"
            )
        }
        try end.check(at: now, "key for \(words)")
    }
}

/// The response of a source of keys.
public enum ContentKeyAnswer: Sendable {
    /// The key.
    case granted(ContentKeyGrant)
    /// Not yet: a license is on its way. Ask again.
    case pending
    /// No, and why: a lower-case sentence without a period.
    case refused(String)
    /// This source does not know the key.
    case unknown
}

/// A source of keys: a caller, a key server, a license. `CarrelMedia` stores no key.
public protocol ContentKeySource: Sendable {
    /// Returns a key.
    ///
    /// - Parameter name: the key as named by the file or the playlist.
    /// - Returns: the key with its terms, or the reason for its absence.
    func key(_ name: ContentKeyName) async -> ContentKeyAnswer

    /// Returns a key that has several names. Files and streams call this method, so that a source that combines others can ask one of
    /// them for all names before it asks the next.
    ///
    /// - Parameter names: the names of the key, the best first.
    /// - Returns: the first answer that is not `unknown`, and the name that it is for; `unknown` without a name otherwise.
    func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?)
}

extension ContentKeySource {
    /// Tries the names in their order.
    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        for name in names {
            let answer = await key(name)
            guard case .unknown = answer else { return (answer, name) }
        }
        return (.unknown, nil)
    }
}
