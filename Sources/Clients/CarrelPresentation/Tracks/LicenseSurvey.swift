// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource

/// Finds the tracks that the license of a source withholds: it lacks their key, or allows smaller pictures only.
///
/// Keys that no license has withhold nothing: their absence is an error when a segment needs them.
struct LicenseSurvey {
    /// The reasons, by the kind and the place of each track.
    private(set) var withheld: [OfferedTrack.Kind: [Int: String]] = [:]

    /// The answer for a key.
    private enum Finding {
        /// A license has it, and limits the pixels of pictures, or does not.
        case licensed(Int?)
        /// A key without a license, or one whose license is on its way.
        case free
        case lacking(String)
    }

    private struct Place: Hashable {
        var kind: OfferedTrack.Kind
        var place: Int
    }

    private let probe: ([ContentKeyName]) async -> ContentKeyAnswer
    private var findings: [[ContentKeyName]: Finding] = [:]
    private var seen: Set<Place> = []
    private var lacking: [Place: String] = [:]
    private var hasLicense = false

    /// Keys that are asked for, at most.
    private static let limit = 256

    /// - Parameter probe: asks for a key by all of its names, without a wait for its license.
    init(_ probe: @escaping ([ContentKeyName]) async -> ContentKeyAnswer) {
        self.probe = probe
    }

    /// Whether a track was surveyed before.
    func knows(_ track: OfferedTrack) -> Bool { seen.contains(Place(kind: track.kind, place: track.place)) }

    /// Asks for the keys of a track.
    ///
    /// - Parameters:
    ///   - track: the track.
    ///   - keys: its keys, each by its names, the best first; none if it is clear, or its keys are not known.
    mutating func add(_ track: OfferedTrack, keys: [[ContentKeyName]]) async {
        let place = Place(kind: track.kind, place: track.place)
        guard seen.insert(place).inserted else { return }
        for names in keys {
            switch await finding(names) {
            case .licensed(let limit):
                hasLicense = true
                guard let limit, track.kind == .video || track.kind == .pictures else { continue }
                guard let pixels = track.pixels else {
                    lacking[place] = "the license allows pictures of at most \(limit) pixels, and their size is not known"
                    continue
                }
                if pixels > limit {
                    let size = "\(track.width ?? 0)x\(track.height ?? 0)"
                    lacking[place] = "the license allows pictures of at most \(limit) pixels, and \(size) are more"
                }
            case .free: break
            case .lacking(let reason): lacking[place] = lacking[place] ?? reason
            }
        }
    }

    private mutating func finding(_ names: [ContentKeyName]) async -> Finding {
        if let known = findings[names] { return known }
        guard findings.count < Self.limit else {
            return .lacking("the source has more than \(Self.limit) keys, and this one is not looked for")
        }
        let found: Finding =
            switch await probe(names) {
            case .granted(let grant): grant.isLicensed ? .licensed(grant.maxPixels) : .free
            case .pending: .free
            case .refused(let reason): .lacking("its key is refused: \(reason)")
            case .unknown: .lacking("the license does not have its key")
            }
        findings[names] = found
        return found
    }

    /// Withholds the tracks that a license does not allow.
    ///
    /// - Returns: whether there are new ones.
    mutating func settle() -> Bool {
        guard hasLicense else { return false }
        var isNew = false
        for (place, reason) in lacking where withheld[place.kind]?[place.place] == nil {
            withheld[place.kind, default: [:]][place.place] = reason
            isNew = true
        }
        return isNew
    }
}
