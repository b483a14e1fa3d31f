// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

extension PackagingSource {
    /// The tracks that are packaged, pictures and sound, and a warning for each that is left out.
    ///
    /// A disabled audio track is packaged too, and is not the default; a disabled track of pictures is left out. So is a track that
    /// cannot be packaged, if another one of its kind can.
    ///
    /// - Throws: `unsupported`, `malformed`; what the reader throws.
    func tracks() throws -> (found: [PackagedTrack], warnings: [String]) {
        var found: [PackagedTrack] = []
        var omitted: [(kind: PackagedTrack.Kind, track: UInt32, error: MediaError)] = []
        var warnings: [String] = []
        let hasEnabledPictures = file.tracks.contains { $0.kind == "vide" && $0.isEnabled && !$0.isCover }
        do {
            for track in file.tracks {
                guard let kind = PackagedTrack.Kind(handler: track.kind), !track.entries.isEmpty, !track.isCover
                else { continue }
                if kind == .video, !track.isEnabled, hasEnabledPictures {
                    warnings.append("\(name): track \(track.id) is left out: its pictures are disabled")
                    continue
                }
                do {
                    found.append(try PackagedTrack(track, kind, of: self))
                } catch let error as MediaError where error.code == .unsupported || !track.isEnabled {
                    omitted.append((kind, track.id, error))
                }
            }
            for (kind, track, error) in omitted {
                guard found.contains(where: { $0.kind == kind }) else { throw error }
                warnings.append("\(name): track \(track) is left out: \(error.message)")
            }
        } catch {
            throw Self.naming(name, error)
        }
        return (found, warnings)
    }
}
