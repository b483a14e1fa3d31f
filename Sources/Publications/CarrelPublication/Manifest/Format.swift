// SPDX-License-Identifier: Apache-2.0

/// The kind of a file: the specifications it follows together, such as `[.zip, .epub, .lcp]`.
public struct Format: Sendable, Hashable {
    /// The specifications that the file follows together, such as a container, a publication format and a protection.
    public var specifications: Set<Specification>
    /// The media type to send and store the file with.
    public var mediaType: MediaType
    /// Without the point.
    public var fileExtension: String

    /// Creates a format.
    ///
    /// - Parameters:
    ///   - specifications: all that the file follows.
    ///   - mediaType: the media type of the file.
    ///   - fileExtension: without the point, such as `epub`.
    public init(_ specifications: Set<Specification>, mediaType: MediaType, fileExtension: String) {
        self.specifications = specifications
        self.mediaType = mediaType
        self.fileExtension = fileExtension
    }

    /// Whether it follows a specification.
    public func conforms(to specification: Specification) -> Bool { specifications.contains(specification) }

    /// The format of an LCP-protected package after it is unlocked.
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
        /// The name of the specification in Readium's toolkits, in lower case.
        public let rawValue: String
        /// Creates a specification from its name; any name is accepted.
        public init(rawValue: String) { self.rawValue = rawValue }

        // containers and syntaxes
        /// A ZIP archive (ISO/IEC 21320-1).
        public static let zip = Specification(rawValue: "zip")
        /// A folder of the file system.
        public static let folder = Specification(rawValue: "folder")
        /// JSON (RFC 8259).
        public static let json = Specification(rawValue: "json")
        /// XML 1.0.
        public static let xml = Specification(rawValue: "xml")

        // publications
        /// EPUB 2 or 3.
        public static let epub = Specification(rawValue: "epub")
        /// PDF (ISO 32000).
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
        /// A single audio file.
        public static let audio = Specification(rawValue: "audio")
        /// A single image that browsers show.
        public static let bitmap = Specification(rawValue: "bitmap")
        /// HTML in the syntax of HTML.
        public static let html = Specification(rawValue: "html")
        /// HTML in the syntax of XML.
        public static let xhtml = Specification(rawValue: "xhtml")

        // catalogs
        /// An OPDS 1.2 catalog feed.
        public static let opds1Catalog = Specification(rawValue: "opds1-catalog")
        /// A single OPDS 1.2 entry.
        public static let opds1Entry = Specification(rawValue: "opds1-entry")
        /// An OPDS 2.0 catalog feed.
        public static let opds2Catalog = Specification(rawValue: "opds2-catalog")
        /// A single publication of OPDS 2.0.
        public static let opds2Publication = Specification(rawValue: "opds2-publication")
        /// An OPDS authentication document (Authentication for OPDS 1.0).
        public static let opdsAuthentication = Specification(rawValue: "opds-authentication")

        // protections
        /// A file whose whole content OMA's DRM Content Format holds, encrypted as a rule.
        public static let dcf = Specification(rawValue: "dcf")
        /// Resources that Readium LCP encrypts.
        public static let lcp = Specification(rawValue: "lcp")
        /// A license document standing alone.
        public static let lcpLicense = Specification(rawValue: "lcp-license")
        /// Resources that Adobe ADEPT encrypts; recognized, not unlocked.
        public static let adept = Specification(rawValue: "adept")
        /// Entries that need a password.
        public static let zipPassword = Specification(rawValue: "zip-password")
        /// PDF that needs a password to open (ISO 32000-2 §7.6).
        public static let pdfPassword = Specification(rawValue: "pdf-password")
    }
}
