// SPDX-License-Identifier: Apache-2.0

package import CarrelMP4

extension MP4Track {
    /// Whether it has the cover of a recording or the pictures of its chapters, and no film.
    package var isCover: Bool {
        let stills: [FourCC] = ["jpeg", "png ", "mjpa", "mjpb"]
        return entries.first.map { stills.contains($0.format) } ?? false
    }
}
