// SPDX-License-Identifier: Apache-2.0

extension Format {
    /// EPUB 2 or 3 in a ZIP container (EPUB 3.3, "OCF ZIP Container").
    public static let epub = Format([.zip, .epub], "application/epub+zip", "epub")
    /// PDF (ISO 32000).
    public static let pdf = Format([.pdf], "application/pdf", "pdf")
    /// A Readium Web Publication Manifest of no narrower profile.
    public static let webPublication = Format([.json, .rwpm], "application/webpub+json", "json")
    /// A Readium Web Publication Manifest of an audiobook.
    public static let audiobookManifest = Format([.json, .rwpm], "application/audiobook+json", "json")
    /// A Readium Web Publication Manifest of a visual narrative (Divina).
    public static let divinaManifest = Format([.json, .rwpm], "application/divina+json", "json")
    /// A Readium package: a ZIP archive with a `manifest.json`.
    public static let webPublicationPackage = Format([.zip, .rwp], "application/webpub+zip", "webpub")
    /// A Readium package of an audiobook.
    public static let audiobookPackage = Format([.zip, .rwp], "application/audiobook+zip", "audiobook")
    /// A Readium package of a visual narrative (Divina).
    public static let divinaPackage = Format([.zip, .rwp], "application/divina+zip", "divina")
    /// A PDF in a Readium package that LCP protects (LCP for PDF).
    public static let lcpProtectedPDF = Format([.zip, .rwp, .lcp], "application/pdf+lcp", "lcpdf")
    /// A Readium audiobook package that LCP protects.
    public static let lcpProtectedAudiobook = Format([.zip, .rwp, .lcp], "application/audiobook+lcp", "lcpa")
    /// A Divina package that LCP protects.
    public static let lcpProtectedDivina = Format([.zip, .rwp, .lcp], "application/divina+lcp", "lcpdi")
    /// A Readium LCP license document without its publication.
    public static let lcpLicense = Format([.json, .lcpLicense], "application/vnd.readium.lcp.license.v1.0+json", "lcpl")
    /// A package in the W3C's Lightweight Packaging Format.
    public static let lpf = Format([.zip, .lpf], "application/lpf+zip", "lpf")
    /// A W3C publication manifest (W3C "Publication Manifest").
    public static let w3cPublicationManifest = Format([.json, .w3cPublicationManifest], "application/ld+json", "json")
    /// A ZIP archive of images, known as a comic book archive.
    public static let cbz = Format([.zip, .informalComic], "application/vnd.comicbook+zip", "cbz")
    /// A ZIP archive of audio files.
    public static let zab = Format([.zip, .informalAudiobook], "application/x.readium.zab+zip", "zab")
    /// An OPDS 1.2 catalog feed.
    public static let opds1Catalog = Format([.xml, .opds1Catalog], "application/atom+xml;profile=opds-catalog", "xml")
    /// A single OPDS 1.2 entry.
    public static let opds1Entry = Format([.xml, .opds1Entry], "application/atom+xml;type=entry;profile=opds-catalog", "xml")
    /// An OPDS 2.0 catalog feed.
    public static let opds2Catalog = Format([.json, .opds2Catalog], "application/opds+json", "json")
    /// A single publication of OPDS 2.0.
    public static let opds2Publication = Format([.json, .opds2Publication], "application/opds-publication+json", "json")
    /// An OPDS authentication document (Authentication for OPDS 1.0).
    public static let opdsAuthentication = Format(
        [.json, .opdsAuthentication],
        "application/opds-authentication+json",
        "json"
    )
    /// Any content in OMA's format for protected files (OMA DRM Content Format 2.0).
    public static let dcf = Format([.dcf], "application/vnd.oma.drm.dcf", "dcf")
    /// HTML in the syntax of HTML.
    public static let html = Format([.html], "text/html", "html")
    /// HTML in the syntax of XML.
    public static let xhtml = Format([.xml, .xhtml], "application/xhtml+xml", "xhtml")
    /// JSON (RFC 8259) of no narrower kind.
    public static let json = Format([.json], "application/json", "json")
    /// A ZIP archive of no narrower kind.
    public static let zip = Format([.zip], "application/zip", "zip")
    /// An unknown format.
    public static let unknown = Format([], "application/octet-stream", "bin")

    /// Sound and pictures that come as one file.
    static let media: [Format] = [
        Format([.audio], "audio/mpeg", "mp3"), Format([.audio], "audio/mp4", "m4a"), Format([.audio], "audio/aac", "aac"),
        Format([.audio], "audio/flac", "flac"), Format([.audio], "audio/ogg", "ogg"), Format([.audio], "audio/opus", "opus"),
        Format([.audio], "audio/wav", "wav"), Format([.audio], "audio/aiff", "aiff"), Format([.audio], "audio/webm", "webm"),
        Format([.bitmap], "image/jpeg", "jpg"), Format([.bitmap], "image/png", "png"), Format([.bitmap], "image/gif", "gif"),
        Format([.bitmap], "image/webp", "webp"), Format([.bitmap], "image/avif", "avif"), Format([.bitmap], "image/jxl", "jxl"),
        Format([.bitmap], "image/bmp", "bmp"), Format([.bitmap], "image/tiff", "tiff"),
    ]

    private static let known: [Format] =
        [
            epub, pdf, webPublication, audiobookManifest, divinaManifest, webPublicationPackage, audiobookPackage, divinaPackage,
            lcpProtectedPDF, lcpProtectedAudiobook, lcpProtectedDivina, lcpLicense, lpf, w3cPublicationManifest, cbz, zab,
            opds1Catalog, opds1Entry, opds2Catalog, opds2Publication, opdsAuthentication, dcf, html, xhtml, json, zip,
        ] + media

    /// Other names of media types that are about.
    private static let otherTypes: [String: Format] = [
        "application/x-cbz": cbz, "application/zip+cbz": cbz, "audio/mp3": media[0], "audio/x-m4a": media[1],
        "audio/x-m4b": media[1],
        "audio/x-flac": media[3], "audio/x-wav": media[6], "image/jpg": media[9],
    ]

    /// Other extensions that are about.
    private static let otherExtensions: [String: Format] = [
        "lcpau": lcpProtectedAudiobook, "jpeg": media[9], "tif": media[16], "m4b": media[1], "mp4": media[1], "aif": media[7],
        "oga": media[4], "htm": html, "xht": xhtml,
    ]

    private init(_ specifications: Set<Specification>, _ mediaType: String, _ fileExtension: String) {
        self.init(specifications, mediaType: MediaType(known: mediaType), fileExtension: fileExtension)
    }

    /// The format of a media type; its parameters count only if formats differ in them.
    ///
    /// - Parameter mediaType: the media type. Nil if it names no known format.
    public init?(mediaType: MediaType) {
        let exact = Self.known.first { $0.mediaType == mediaType }
        guard
            let format = exact ?? Self.known.first(where: { $0.mediaType.matches(mediaType) })
                ?? Self.otherTypes[mediaType.essence]
        else { return nil }
        self = format
    }

    /// The format of a file extension.
    ///
    /// - Parameter fileExtension: the extension without the dot. Nil for an unknown extension, and for `json` and `xml`, which
    ///   are ambiguous.
    public init?(fileExtension: String) {
        let text = fileExtension.lowercased()
        guard text != "json", text != "xml",
            let format = Self.known.first(where: { $0.fileExtension == text }) ?? Self.otherExtensions[text]
        else { return nil }
        self = format
    }
}
