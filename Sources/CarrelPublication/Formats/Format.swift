/// What kind of file something is: the specifications it follows together, such as `[.zip, .epub, .lcp]`.
public struct Format: Sendable, Hashable {
    public var specifications: Set<Specification>
    public var mediaType: MediaType
    /// Without the point.
    public var fileExtension: String

    public init(_ specifications: Set<Specification>, mediaType: MediaType, fileExtension: String) {
        self.specifications = specifications
        self.mediaType = mediaType
        self.fileExtension = fileExtension
    }

    /// Whether it follows a specification.
    public func conforms(to specification: Specification) -> Bool { specifications.contains(specification) }

    /// What a package that Readium LCP protects is when it is unlocked.
    package var withoutLCP: Format {
        switch self {
        case .lcpProtectedPDF: return .webPublicationPackage
        case .lcpProtectedAudiobook: return .audiobookPackage
        case .lcpProtectedDivina: return .divinaPackage
        default:
            var format = self
            format.specifications.remove(.lcp)
            return format
        }
    }

    /// One specification of a file: a container, a syntax, a kind of publication, a protection.
    public struct Specification: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        // containers and syntaxes
        public static let zip = Specification(rawValue: "zip")
        public static let folder = Specification(rawValue: "folder")
        public static let json = Specification(rawValue: "json")
        public static let xml = Specification(rawValue: "xml")

        // publications
        public static let epub = Specification(rawValue: "epub")
        public static let pdf = Specification(rawValue: "pdf")
        /// A Readium Web Publication Manifest.
        public static let rwpm = Specification(rawValue: "rwpm")
        /// A package with such a manifest in it.
        public static let rwp = Specification(rawValue: "rwp")
        /// A W3C publication manifest.
        public static let w3cPublicationManifest = Specification(rawValue: "w3c-pub-manifest")
        /// W3C Lightweight Packaging Format.
        public static let lpf = Specification(rawValue: "lpf")
        /// An archive of images.
        public static let informalComic = Specification(rawValue: "informal-comic")
        /// An archive of audio files.
        public static let informalAudiobook = Specification(rawValue: "informal-audiobook")
        public static let audio = Specification(rawValue: "audio")
        public static let bitmap = Specification(rawValue: "bitmap")
        public static let html = Specification(rawValue: "html")
        public static let xhtml = Specification(rawValue: "xhtml")

        // catalogs
        public static let opds1Catalog = Specification(rawValue: "opds1-catalog")
        public static let opds1Entry = Specification(rawValue: "opds1-entry")
        public static let opds2Catalog = Specification(rawValue: "opds2-catalog")
        public static let opds2Publication = Specification(rawValue: "opds2-publication")
        public static let opdsAuthentication = Specification(rawValue: "opds-authentication")

        // protections
        public static let lcp = Specification(rawValue: "lcp")
        /// A license document standing alone.
        public static let lcpLicense = Specification(rawValue: "lcp-license")
        public static let adept = Specification(rawValue: "adept")
        /// Entries that need a password.
        public static let zipPassword = Specification(rawValue: "zip-password")
        public static let pdfPassword = Specification(rawValue: "pdf-password")
    }
}
