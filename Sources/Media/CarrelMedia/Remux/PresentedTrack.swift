// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// The clear samples of a track in the order in which a presentation decodes them, part after part.
final class PresentedTrack {
    /// The part of the next samples.
    private(set) var part: PresentedParts.Part?
    let plan: PresentationPlan

    private let track: MP4Track
    private let file: MP4File
    private let protection: FileProtection
    private var reader: ClearTrackReader
    /// The position of the reader's next sample in decode order.
    private(set) var index = 0
    private var number = -1

    init(_ track: MP4Track, of file: MP4File, _ protection: FileProtection) throws {
        self.track = track
        self.file = file
        self.protection = protection
        // refuse samples that the key does not decrypt first
        reader = try ClearTrackReader(track, of: file, protection)
        plan = try PresentationPlan(track, of: file)
        try beginPart()
    }

    var id: UInt32 { track.id }
    var isProtected: Bool { reader.isProtected }
    /// The next sample; nil after the last part.
    var sample: MP4Sample? { part == nil ? nil : reader.sample }

    /// Goes to the first sample of the next part that has one.
    private func beginPart() throws {
        repeat {
            number += 1
            guard number < plan.parts.count else {
                part = nil
                return
            }
            let next = plan.parts[number]
            if next.samples.lowerBound < index {
                reader = try ClearTrackReader(track, of: file, protection)
                index = 0
            }
            while index < next.samples.lowerBound, reader.sample != nil {
                try reader.skip()
                index += 1
            }
            part = next.part
        } while reader.sample == nil
    }

    /// Goes on to a sample that is presented.
    private func settle() throws {
        guard number < plan.parts.count else { return }
        let current = plan.parts[number]
        while index < current.samples.upperBound, let sample = reader.sample {
            guard sample.decodeTime &+ sample.compositionOffset < current.earliest else { return }
            try reader.skip()
            index += 1
        }
        try beginPart()
    }

    /// Lends the next sample, decrypted, and advances.
    func next(_ body: (MP4Sample, inout MutableRawSpan, Range<Int>) throws -> Void) throws {
        guard part != nil else { return }
        try reader.next(body)
        index += 1
        try settle()
    }
}
