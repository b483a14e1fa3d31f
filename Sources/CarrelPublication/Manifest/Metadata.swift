public import CarrelJSON

/// What a publication says about itself (Readium Web Publication Manifest, "Metadata").
public struct Metadata: Sendable, Equatable {
    /// A URI that names the publication, such as `urn:isbn:…`.
    public var identifier: String?
    /// A URI of schema.org, such as `http://schema.org/Audiobook`.
    public var type: String?
    /// URIs of the profiles that the manifest follows.
    public var conformsTo: [Profile]
    public var title: LocalizedString
    public var subtitle: LocalizedString?
    public var sortAs: LocalizedString?
    /// ISO 8601, as it was given: a date, or a date and a time.
    public var modified: String?
    /// ISO 8601, as it was given: a year, a date, or a date and a time.
    public var published: String?
    /// BCP 47 tags, the main one first.
    public var languages: [String]
    public var contributors: [ContributorRole: [Contributor]]
    public var subjects: [Subject]
    public var accessibility: Accessibility?
    /// Whether it is laid out by its publisher (`fixed`), flows, or scrolls.
    public var layout: Layout?
    public var readingProgression: ReadingProgression?
    /// May hold HTML.
    public var description: String?
    /// Seconds.
    public var duration: Double?
    public var numberOfPages: Int?
    /// Series, collections and periodicals, by the member that names them, such as `series`.
    public var belongsTo: [String: [Contributor]]
    /// What else the manifest says, kept as it is.
    public var otherMetadata: JSONObject

    /// A profile of the manifest.
    public struct Profile: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let audiobook = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/audiobook")
        public static let divina = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/divina")
        public static let epub = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/epub")
        public static let pdf = Profile(rawValue: "https://readium.org/webpub-manifest/profiles/pdf")
    }

    public enum Layout: String, Sendable { case fixed, reflowable, scrolled }

    public enum ReadingProgression: String, Sendable { case ltr, rtl, auto }

    public init(title: LocalizedString) {
        self.title = title
        conformsTo = []
        languages = []
        contributors = [:]
        subjects = []
        belongsTo = [:]
        otherMetadata = JSONObject()
    }

    public var authors: [Contributor] { contributors[.author] ?? [] }
    public var narrators: [Contributor] { contributors[.narrator] ?? [] }
    public var publishers: [Contributor] { contributors[.publisher] ?? [] }
}
