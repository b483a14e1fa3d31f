// SPDX-License-Identifier: Apache-2.0

public import CarrelJSON

/// The metadata of a publication (Readium Web Publication Manifest, "Metadata").
public struct Metadata: Sendable, Equatable {
    /// A URI that names the publication, such as `urn:isbn:…`.
    public var identifier: String?
    /// A URI of schema.org, such as `http://schema.org/Audiobook`.
    public var type: String?
    /// URIs of the profiles that the manifest follows.
    public var conformsTo: [Profile]
    /// The title; the only required member.
    public var title: LocalizedString
    /// The subtitle.
    public var subtitle: LocalizedString?
    /// The title to sort by, such as "Waves, The".
    public var sortAs: LocalizedString?
    /// ISO 8601, as it was given: a date, or a date and a time.
    public var modified: String?
    /// ISO 8601, as it was given: a year, a date, or a date and a time.
    public var published: String?
    /// BCP 47 tags, the main one first.
    public var languages: [String]
    /// Contributors by role.
    public var contributors: [ContributorRole: [Contributor]]
    /// Subjects, such as genres and themes.
    public var subjects: [Subject]
    /// Accessibility metadata; nil if there is none.
    public var accessibility: Accessibility?
    /// Whether it is laid out by its publisher (`fixed`), flows, or scrolls.
    public var layout: Layout?
    /// The direction of reading; nil if it is not declared.
    public var readingProgression: ReadingProgression?
    /// May hold HTML.
    public var description: String?
    /// Seconds.
    public var duration: Double?
    /// The number of pages of a printed edition.
    public var numberOfPages: Int?
    /// Series, collections and periodicals, by the member that names them, such as `series`.
    public var belongsTo: [String: [Contributor]]
    /// Further members of the metadata, unparsed.
    public var otherMetadata: JSONObject

    /// A profile of the manifest.
    public struct Profile: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Audiobooks.
        public static let audiobook = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/audiobook")
        /// Visual narratives: comics, manga, webtoons (Divina).
        public static let divina = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/divina")
        /// Manifests made of EPUBs.
        public static let epub = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/epub")
        /// Manifests of PDFs.
        public static let pdf = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/pdf")
    }

    /// The direction in which pages follow each other.
    public enum ReadingProgression: String, Sendable {
        /// From left to right.
        case ltr
        /// From right to left.
        case rtl
        /// As the language of the publication has it.
        case auto
    }

    /// Creates metadata of a title and nothing else.
    ///
    /// - Parameter title: the title.
    public init(title: LocalizedString) {
        self.title = title
        conformsTo = []
        languages = []
        contributors = [:]
        subjects = []
        belongsTo = [:]
        otherMetadata = JSONObject()
    }

    /// Contributors with the role of author.
    public var authors: [Contributor] { contributors[.author] ?? [] }
    /// Contributors with the role of narrator.
    public var narrators: [Contributor] { contributors[.narrator] ?? [] }
    /// Contributors with the role of publisher.
    public var publishers: [Contributor] { contributors[.publisher] ?? [] }
}
