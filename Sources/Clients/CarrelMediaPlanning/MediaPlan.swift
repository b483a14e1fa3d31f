// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
package import CarrelSavedMedia

/// The tracks that are saved.
package struct MediaSelection: Sendable, Equatable {
    /// The languages of renditions.
    package enum Languages: Sendable, Equatable {
        /// The default rendition of each group: `DEFAULT=YES` in HLS, role `main` in DASH.
        case defaults
        case none
        case all
        /// Languages (BCP 47); renditions of other languages are left out.
        case chosen([String])
    }

    /// Bits a second: the lowest variant with at least as many is saved, otherwise the highest.
    package var bitrate = 265_000
    package var audio = Languages.defaults
    package var texts = Languages.defaults

    package init() {}
}

/// The tracks of a source among which a caller selects.
package struct MediaChoices: Sendable, Equatable {
    package struct Variant: Sendable, Equatable {
        /// Bits a second, at most.
        package var bandwidth: Int
        package var codecs: String?
        package var width: Int?
        package var height: Int?
    }

    package struct Rendition: Sendable, Equatable {
        /// The name that players show.
        package var name: String
        /// The language (BCP 47), in its shortest form; nil if unknown.
        package var language: String?
        /// Whether it is saved by default.
        package var isDefault: Bool
    }

    package var variants: [Variant] = []
    package var audio: [Rendition] = []
    package var texts: [Rendition] = []

    package init() {}
}

/// A key that the media of a plan need.
package struct PlannedKey: Sendable, Hashable {
    /// The names of the key, the best first.
    package var names: [ContentKeyName]
    /// The method of the key line (`AES-128`, `SAMPLE-AES`), or the scheme of Common Encryption (`cenc`, `cbcs`); nil if unknown.
    package var method: String?
    /// The key format of the key line; nil for `identity`, and if no key line names the key.
    package var keyFormat: String?
    /// The addresses of license servers that the manifest names.
    package var licenseURLs: [String] = []

    package init(_ names: [ContentKeyName], method: String? = nil, keyFormat: String? = nil, licenseURLs: [String] = []) {
        self.names = names
        self.method = method
        self.keyFormat = keyFormat
        self.licenseURLs = licenseURLs
    }
}

/// Everything that a package of a source has, and the keys that its media need. No media were fetched for it.
package struct MediaPlan: Sendable {
    /// The source, as its player opens it.
    package var source: SavedSource
    /// Everything that was loaded for the plan: playlists, manifests, remote elements, indexes, initialization segments.
    package var documents: [SavedDocument] = []
    /// The selected streams with their pieces.
    package var streams: [SavedStream] = []
    /// The keys, each once, in the order of the media.
    package var keys: [PlannedKey] = []
    /// How the source is protected.
    package var protections: [MediaProtection] = []
    /// All tracks of the source.
    package var choices = MediaChoices()
    /// The duration; nil if unknown.
    package var duration: Duration?
    /// Bytes of all pieces, from their ranges or, without them, from the bit rates; nil if unknown.
    package var expectedBytes: Int64?

    package init(source: SavedSource) {
        self.source = source
    }

    /// Whether the source is protected, so that its clear media are sealed.
    package var isProtected: Bool { !keys.isEmpty || !protections.isEmpty }
}
