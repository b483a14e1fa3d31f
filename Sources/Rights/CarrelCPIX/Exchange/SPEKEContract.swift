// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights

/// The rules of SPEKE 2.0 and 2.1 for requests: what must be there, and which encryption contracts are valid.
struct SPEKEContract {
    /// A version of SPEKE, with the version of CPIX that it uses.
    enum Version: String {
        case v20 = "2.0"
        case v21 = "2.1"

        var document: CPIXDocument.Version { self == .v20 ? .v23 : .v24 }

        /// The schemes of keys.
        var schemes: Set<String> {
            let common: Set = ["cenc", "cens", "cbc1", "cbcs"]
            return self == .v20 ? common : common.union(["AES-128", "SAMPLE-AES", "SAMPLE-AES-CTR"])
        }
    }

    /// The kinds of tracks that a preset is for.
    private struct Tracks: OptionSet {
        let rawValue: Int
        static let video = Tracks(rawValue: 1)
        static let audio = Tracks(rawValue: 2)
    }

    private static let presets: [String: Tracks] = [
        "VIDEO": .video, "SD": .video, "HD": .video, "HD1": .video, "HD2": .video, "UHD": .video, "UHD1": .video, "UHD2": .video,
        "AUDIO": .audio, "STEREO_AUDIO": .audio, "MULTICHANNEL_AUDIO": .audio, "MULTICHANNEL_AUDIO_3_6": .audio,
        "MULTICHANNEL_AUDIO_7": .audio, "ALL": [.video, .audio],
    ]

    /// Refuses a request that violates SPEKE.
    static func check(_ document: CPIXDocument, _ version: Version) throws(CPIXError) {
        for key in document.keys {
            guard let scheme = key.scheme else { throw violation("the key \(key.id.uuid) has no commonEncryptionScheme") }
            guard version.schemes.contains(scheme) else {
                throw violation(
                    "the key \(key.id.uuid) has the scheme '\(scheme)', which SPEKE \(version.rawValue) does not have"
                )
            }
        }
        guard !document.systems.isEmpty else { throw violation("the request has no DRMSystem") }
        // media for several systems may leave FairPlay out; media for FairPlay alone would play nowhere
        let systems = Dictionary(grouping: document.systems, by: \.keyID)
        for key in document.keys where key.scheme == "cenc" || key.scheme == "cens" {
            guard let entries = systems[key.id] else { continue }
            guard !entries.allSatisfy({ $0.system.uuid == KeySignaling.System.fairPlay.rawValue }) else {
                throw violation("FairPlay needs the scheme cbcs, which the key \(key.id.uuid) does not have")
            }
        }
        try checkRules(document)
    }

    /// Checks the encryption contract: which key is for which tracks.
    private static func checkRules(_ document: CPIXDocument) throws(CPIXError) {
        guard !document.rules.isEmpty else { throw violation("the request has no ContentKeyUsageRule") }
        var presetsOfPeriods: [[String]: Set<String>] = [:]
        var keys: Set<KeyID> = []
        for rule in document.rules {
            keys.insert(rule.keyID)
            guard let preset = rule.trackType else {
                throw violation("the usage rule of the key \(rule.keyID.uuid) has no intendedTrackType")
            }
            var tracks: Tracks = []
            for part in preset.split(separator: "+", omittingEmptySubsequences: false) {
                guard let known = presets[String(part)] else {
                    throw violation("the intendedTrackType '\(preset.prefix(64))' is not a preset of SPEKE")
                }
                tracks.formUnion(known)
            }
            let filtered: Tracks = [rule.video.isEmpty ? [] : .video, rule.audio.isEmpty ? [] : .audio]
            guard filtered == tracks else {
                throw violation("the filters of the key \(rule.keyID.uuid) do not fit its intendedTrackType, '\(preset)'")
            }
            guard presetsOfPeriods[rule.periods.sorted(), default: []].insert(preset).inserted else {
                throw violation("two usage rules have the intendedTrackType '\(preset)', which must be unique")
            }
        }
        for presets in presetsOfPeriods.values where presets.contains("ALL") && presets.count > 1 {
            throw violation("the intendedTrackType 'ALL' is for a key that all tracks share, and other keys have usage rules too")
        }
        if let key = document.keys.first(where: { !keys.contains($0.id) }) {
            throw violation("the key \(key.id.uuid) has no usage rule")
        }
    }

    private static func violation(_ message: String) -> CPIXError { CPIXError(.contract, message) }
}
