// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
import CarrelBytes
import CarrelVideo
package import CarrelMP4

/// An input file with the tracks to package.
package struct PackagingSource {
    /// Its name in messages.
    package let name: String
    /// The file.
    package let file: MP4File
    /// Whether it has a track of pictures.
    package var hasPictures: Bool { file.tracks.contains { $0.kind == "vide" } }
    /// The coding of its first video that is not 8-bit 4:2:0 H.264; nil if there is none.
    package var picturesLostByAlignment: String? {
        for track in file.tracks where track.kind == "vide" {
            guard let entry = track.entries.first else { continue }
            guard entry.format == "avc1" || entry.format == "avc3",
                let record = try? AVCDecoderConfigurationRecord(entry.configuration.rawSpan),
                let set = record.sequenceParameterSets.first.flatMap({ try? AVCSequenceParameterSet($0.rawSpan) }),
                set.lumaBitDepth == 8, set.chromaBitDepth == 8, set.chromaFormat == 1
            else { return entry.codecString ?? "\(entry.format)" }
        }
        return nil
    }
    /// How it is protected; the keys of protected files are here.
    package let protection: FileProtection

    /// - Parameters:
    ///   - name: the name in messages.
    ///   - reader: an MP4 or MOV file.
    ///   - keys: the keys of a protected file.
    /// - Throws: `malformed` with the name of the file and the byte, `missingKey`; the errors of the reader.
    package init(name: String, _ reader: any ByteReader, keys: some ContentKeySource = GivenKeys()) async throws {
        self.name = name
        do {
            file = try MP4File(reader)
            protection = try await FileProtection(file, from: keys)
        } catch {
            throw Self.naming(name, error)
        }
    }

    /// Whether a file begins with a box of MP4 or MOV.
    package static func isMP4(_ beginning: [UInt8]) -> Bool {
        guard beginning.count >= 8 else { return false }
        let boxes: Set<FourCC> = ["ftyp", "moov", "mdat", "free", "skip", "wide", "pnot", "styp", "moof", "sidx"]
        return boxes.contains(FourCC(beginning.rawSpan.u32(at: 4)))
    }

    /// An error with the name of the file that it is about.
    static func naming(_ name: String, _ error: any Error) -> any Error {
        switch error {
        case let error as Malformed: MediaError(.malformed, "\(name): \(error.description)")
        case let error as MediaError where !error.message.hasPrefix(name): MediaError(error.code, "\(name): \(error.message)")
        default: error
        }
    }

    /// The text tracks, which are not packaged unchanged; chapters are not included.
    package var textTracks: [MP4Track] {
        let chapters = Set(file.tracks.flatMap(\.chapterTrackIDs))
        return file.tracks.filter { ["text", "sbtl", "subt", "subp", "clcp"].contains($0.kind) && !chapters.contains($0.id) }
    }
}
