// SPDX-License-Identifier: Apache-2.0

import CarrelDASH
import CarrelMediaSource

/// The profile of manifests that the compatible system takes (ISO/IEC 23009-1 §8.4).
enum LiveProfile {
    private static let name = "urn:mpeg:dash:profile:isoff-live:2011"

    /// Checks that a manifest declares the profile.
    ///
    /// - Parameter mpd: the manifest.
    /// - Throws: `proxy.unsupported`.
    static func check(_ mpd: MPD) throws(ProxyError) {
        let profiles = mpd.profiles.split { $0 == "," || $0.isWhitespace }
        guard profiles.contains(where: { $0 == name }) else {
            throw ProxyError(.unsupported, "this policy takes manifests of the ISO base media file format live profile alone")
        }
    }
}
