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

    private let probe: (ContentKeyName) async -> ContentKeyAnswer
    private var findings: [[ContentKeyName]: Finding] = [:]
    private var seen: Set<Place> = []
    private var lacking: [Place: String] = [:]
    private var hasLicense = false
    /// Whether the first key has no license: the caller passed it in, and others are not asked for.
    private(set) var isOver = false

    /// Keys that are asked for, at most.
    private static let limit = 256

    init(_ probe: @escaping (ContentKeyName) async -> ContentKeyAnswer) {
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
        guard seen.insert(place).inserted, !isOver else { return }
        for names in keys {
            switch await finding(names) {
            case .licensed(let limit):
                hasLicense = true
                guard let limit, track.kind == .video || track.kind == .pictures else { continue }
                guard let width = track.width, let height = track.height else {
                    lacking[place] = "the license allows pictures of at most \(limit) pixels, and their size is not known"
                    continue
                }
                if width * height > limit {
                    lacking[place] = "the license allows pictures of at most \(limit) pixels, and \(width)x\(height) are more"
                }
            case .free: if !hasLicense, lacking.isEmpty { isOver = true }
            case .lacking(let reason): lacking[place] = lacking[place] ?? reason
            }
        }
    }

    private mutating func finding(_ names: [ContentKeyName]) async -> Finding {
        if let known = findings[names] { return known }
        guard findings.count < Self.limit else { return .free }
        var found = Finding.lacking("the license does not have its key")
        loop: for name in names {
            switch await probe(name) {
            case .granted(let grant): found = grant.isLicensed ? .licensed(grant.maxPixels) : .free
            case .pending: found = .free
            case .refused(let reason): found = .lacking("its key is refused: \(reason)")
            case .unknown: continue
            }
            break loop
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
