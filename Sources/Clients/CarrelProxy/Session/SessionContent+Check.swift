// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelPresentation

extension SessionContent {
    /// Looks into the source as a player's first requests do: its playlists, and the beginning of its first segments, which needs their keys.
    ///
    /// - Returns: its facts.
    /// - Throws: the error that a player would get.
    func check() async throws(ProxyError) -> SourceSummary {
        let use = KeyUse()
        do {
            return try await summary(use)
        } catch {
            throw use.explained(ProxyError(error, in: "the source"))
        }
    }

    /// Takes the beginning of a segment.
    private func begin(_ name: SegmentName, of presentation: any Presentation, _ use: KeyUse) async throws {
        let media = try await presentation.open(name, use)
        _ = try await media.bytes.next()
        for use in [use] + media.uses { try use.check(at: now) }
    }

    /// Returns a summary of the source, after opening its first segments.
    ///
    /// - Parameter use: gets the keys that they need.
    /// - Returns: the summary.
    /// - Throws: the error that a player would get.
    func summary(_ use: KeyUse) async throws -> SourceSummary {
        switch try await prepared(use) {
        case .bytes(let content):
            var summary = SourceSummary(.dcf)
            summary.protections = try await content.protections()
            return summary
        case .presentation(let presentation):
            let outline = try await top(of: presentation, use)
            var summary = SourceSummary(presentation.kind, outline)
            summary.protections = try await presentation.protections(use)
            // video, and separate audio
            let first = outline.variants.first?.name
            let audio =
                outline.variants.first?.hasAudioGroup == true ? outline.audio.first { $0.isDefault } ?? outline.audio.first : nil
            for (place, name) in [first, audio?.name].compactMap({ $0 }).enumerated() {
                let list = try await presentation.segments(of: name, use)
                if place == 0, list.isEnded { summary.duration = list.segments.reduce(.zero) { $0 + $1.duration } }
                // of a live source the first one may leave the window, and players begin near the edge
                let offered = list.isEnded ? list.segments[...] : list.segments.suffix(3)
                guard let segment = offered.first(where: { !$0.isGap }) else { continue }
                do { try await begin(segment.name, of: presentation, use) } catch let error as ProxyError {
                    guard !list.isEnded, [.missing, .windowPassed].contains(error.code) else { throw error }
                }
            }
            return summary
        }
    }
}
