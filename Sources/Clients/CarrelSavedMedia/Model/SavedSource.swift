// SPDX-License-Identifier: Apache-2.0

/// The choice of files that are sealed.
package enum SealMode: String, Sendable, Hashable {
    /// Documents, and clear media of a protected source. Other media are stored as delivered.
    case keys
    /// Everything.
    case all
}

/// The source of a package, as its player opens it. It is sealed, because it holds addresses.
package struct SavedSource: Sendable, Equatable {
    /// The form of the source.
    package enum Form: String, Sendable, Hashable {
        case hls, dash, file
    }

    /// A separate subtitle file.
    package struct Subtitles: Sendable, Equatable {
        package var name: String
        package var language: String
        package var address: String

        package init(name: String, language: String, address: String) {
            self.name = name
            self.language = language
            self.address = address
        }
    }

    /// The address of the source, or the path of a file, as the origin names it.
    package var address: String
    package var form: Form
    /// The media type of the source, if a caller named it.
    package var contentType: String?
    /// The duration in seconds, if a caller named it.
    package var durationSeconds: Double?
    /// The address of the index of a scrambled transport stream.
    package var indexAddress: String?
    package var subtitles: Subtitles?
    /// The saved tracks of a DASH source: the positions of their representations in the first period. Empty for other forms.
    package var tracks: [SavedTrack] = []

    package init(address: String, form: Form) {
        self.address = address
        self.form = form
    }
}

/// The position of a DASH representation in the first period.
package struct SavedTrack: Sendable, Hashable {
    package var adaptationSet: Int
    package var representation: Int

    package init(adaptationSet: Int, representation: Int) {
        self.adaptationSet = adaptationSet
        self.representation = representation
    }
}
