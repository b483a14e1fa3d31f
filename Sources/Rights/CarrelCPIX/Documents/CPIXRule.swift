// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelRights

/// The tracks that a key is for (`ContentKeyUsageRule`). A track matches if each kind of filter that the rule has contains one that
/// matches; a rule without filters matches all tracks (CPIX 2.3 §5.3.8). A rule with filters for pictures and for sound is for both, as
/// the preset `ALL` of SPEKE 2 has it: no track is both.
package struct CPIXRule: Sendable, Equatable {
    /// Whole numbers from a lower to an upper bound, both included.
    package struct Bounds: Sendable, Equatable {
        package var lower: Int?
        package var upper: Int?

        package init(_ lower: Int? = nil, _ upper: Int? = nil) {
            self.lower = lower
            self.upper = upper
        }

        /// Whether there is no bound.
        var isOpen: Bool { lower == nil && upper == nil }

        func contains(_ number: Int) -> Bool { number >= lower ?? .min && number <= upper ?? .max }
    }

    /// A filter for pictures.
    package struct Video: Sendable, Equatable {
        package var pixels = Bounds()
        package var framesPerSecond = Bounds()
        package var isHDR: Bool?
        package var hasWideGamut: Bool?

        package init(pixels: Bounds = Bounds()) { self.pixels = pixels }
    }

    package var keyID: KeyID
    /// The kind of track in the sender's words, such as `SD` or `STEREO_AUDIO`.
    package var trackType: String?
    package var periods: [String] = []
    package var labels: [String] = []
    package var video: [Video] = []
    /// Filters for sound, by the number of channels.
    package var audio: [Bounds] = []
    /// Filters by bits in a second.
    package var bitrates: [Bounds] = []

    package init(_ keyID: KeyID, trackType: String? = nil) {
        self.keyID = keyID
        self.trackType = trackType
    }
}

/// The facts about a track that rules decide by. A fact that is nil is unknown.
package struct CPIXTrack: Sendable {
    /// The content of a track.
    package enum Kind: Sendable {
        case video(pixels: Int?, framesPerSecond: Int?)
        case audio(channels: Int?)
        case other
    }

    package var kind: Kind
    /// The track's name in errors.
    package var name: String
    package var isHDR: Bool?
    package var hasWideGamut: Bool?
    /// Bits in a second.
    package var bitrate: Int?
    package var labels: Set<String> = []
    /// The id of its period; nil without periods.
    package var period: String?

    package init(_ kind: Kind, named name: String) {
        self.kind = kind
        self.name = name
    }
}

extension CPIXDocument {
    /// The key of a track.
    ///
    /// - Parameter track: the facts about the track.
    /// - Returns: the key's id; nil if no rule matches, so that the track stays clear. Without rules, the only key.
    /// - Throws: `cpix.ambiguous` if several rules match, if a rule needs an unknown fact, or if several keys have no rules;
    ///   `cpix.missing-key` if there is no key.
    package func keyID(for track: CPIXTrack) throws(CPIXError) -> KeyID? {
        guard !rules.isEmpty else {
            guard let first = keys.first else { throw CPIXError(.missingKey, "the document has no key") }
            guard keys.count == 1 else {
                throw CPIXError(
                    .ambiguous,
                    "the document has \(keys.count) keys, and no usage rule says which is for \(track.name)"
                )
            }
            return first.id
        }
        var match: KeyID?
        for rule in rules {
            guard try rule.matches(track) else { continue }
            if let match {
                throw CPIXError(
                    .ambiguous,
                    "two usage rules match \(track.name): of the keys \(match.uuid) and \(rule.keyID.uuid)"
                )
            }
            match = rule.keyID
        }
        return match
    }
}

extension CPIXRule {
    /// Whether the rule is for a track.
    func matches(_ track: CPIXTrack) throws(CPIXError) -> Bool {
        if !periods.isEmpty, track.period.map({ !periods.contains($0) }) ?? true { return false }
        if !labels.isEmpty, track.labels.isDisjoint(with: labels) { return false }
        if !bitrates.isEmpty, try !any(bitrates, track.bitrate, "bit rate", track) { return false }
        if video.isEmpty, audio.isEmpty { return true }
        switch track.kind {
        case .audio(let channels): return audio.isEmpty ? false : try any(audio, channels, "number of channels", track)
        case .video(let pixels, let framesPerSecond): return try matches(pixels, framesPerSecond, track)
        case .other: return false
        }
    }

    /// Whether a filter for pictures matches.
    private func matches(_ pixels: Int?, _ framesPerSecond: Int?, _ track: CPIXTrack) throws(CPIXError) -> Bool {
        for filter in video {
            guard try any([filter.pixels], pixels, "picture size", track),
                try any([filter.framesPerSecond], framesPerSecond, "frame rate", track),
                try has(filter.isHDR, track.isHDR, "dynamic range", track),
                try has(filter.hasWideGamut, track.hasWideGamut, "color gamut", track)
            else { continue }
            return true
        }
        return false
    }

    private func any(_ bounds: [Bounds], _ fact: Int?, _ name: String, _ track: CPIXTrack) throws(CPIXError) -> Bool {
        if bounds.contains(where: \.isOpen) { return true }
        guard let fact else { throw unknown(name, track) }
        return bounds.contains { $0.contains(fact) }
    }

    private func has(_ required: Bool?, _ fact: Bool?, _ name: String, _ track: CPIXTrack) throws(CPIXError) -> Bool {
        guard let required else { return true }
        guard let fact else { throw unknown(name, track) }
        return fact == required
    }

    private func unknown(_ name: String, _ track: CPIXTrack) -> CPIXError {
        CPIXError(.ambiguous, "a usage rule of the key \(keyID.uuid) depends on the \(name) of \(track.name), which is unknown")
    }
}
