// SPDX-License-Identifier: Apache-2.0

/// The expected result of opening each third-party file unchanged: the table covers every folder (FixtureTests).
enum FixtureTable {
    enum Outcome: Equatable, Sendable {
        /// It opens as this media type; each of the words is in a warning, and there are no more warnings than words.
        case opens(String, [String] = [])
        /// Its metadata opens, and what is in it stays closed.
        case restricted(String)
        case refused(String)
    }

    static let all: [String: Outcome] = epub.merging(containers) { $1 }.merging(others) { $1 }.merging(samples) { $1 }
        .merging(archives) { $1 }

    /// Files read by separate tests: their sources, below `Tests`, have these names in text literals.
    static let elsewhere: [String: [String]] = [
        "Formats/CarrelAudioTests/MP3OracleTests.swift": ["lcp/audiotest-gtr-jazz.mp3"],
        "Publications/CarrelLCPTests/FixtureOracles.swift": [
            "lcp/wasteland-otf-obf_LCP_dan.epub", "lcp/wasteland-otf-obf_LCP_dan.lcpl", "lcp/daisy-test.lcpdf",
            "lcp/daisy-mmenu.lcpdf", "lcp/audiotest.lcpa", "lcp/edrlab-license1.lcpl", "lcp/prod-profile-1.0.lcpl",
        ],
        "Publications/CarrelLCPTests/LicenseDocumentTests.swift": [
            "lcp/legacy-2015-links-object-profile-1.0.lcpl", "lcp/palace/license-fb.json", "lcp/palace/license-ul.json",
        ],
        "Publications/CarrelLCPTests/RevocationTests.swift": [
            "pki/edrlab-test-empty.crl", "pki/revoked/EdelCurlRoot-ca.der", "pki/revoked/Server-localhost-sv.crl",
            "pki/revoked/Server-localhost-sv.der",
        ],
        "Publications/CarrelLCPTests/SignatureTests.swift": [
            "pki/cacert-edrlab-prod.pem", "pki/cacert-edrlab-test-2016.pem", "pki/cacert-edrlab-test-2026.pem",
            "pki/cert-edrlab-test-2016.pem", "pki/cert-edrlab-test-2026.pem", "pki/lcp-rs/provider.der", "pki/lcp-rs/root_ca.der",
            "pki/sample_ecdsa.crt", "pki/sample_rsa.crt",
        ],
        "Publications/CarrelLCPTests/StatusDocumentTests.swift": [
            "lcp/edrlab-status1.json", "lcp/palace/status-fb-active.json", "lcp/palace/status-fb-book-adobe.json",
            "lcp/palace/status-fb-early-return.json", "lcp/palace/status-ul-active.json", "lcp/palace/status-ul-returned.json",
        ],
        "Clients/CarrelWebReaderTests/MediaTests.swift": ["lcp/daisy.pdf", "lcp/wasteland-otf-obf.epub"],
    ]

    /// Files that no test uses, and the reasons.
    static let unused: [String: String] = [
        "README.md": "says where the others come from",
        "oracles.json": "says what is expected of the others",
    ]

    private static let epubType = "application/epub+zip"

    private static let epub: [String: Outcome] = [
        "epub/childrens-literature.epub": .opens(epubType),
        "epub/lorem.epub": .opens(epubType),
        "epub/sample-with-space.epub": .opens(epubType),
        "epub/thorium/a11y_metadata.epub": .opens(epubType, ["no table of contents"]),
        "epub/thorium/a11y_metadata_2025.epub": .opens(epubType),
        "epub/thorium/large-tables.epub": .opens(epubType),
    ]

    private static let containers: [String: Outcome] = Dictionary(
        uniqueKeysWithValues: [
            ("epub2-ocf-minimal-valid", .opens(epubType)),
            ("ocf-container-not-ocf-error", .refused("opening.parsing-failed")),
            ("ocf-filename-character-forbidden-error", .opens(epubType, ["does not allow, U+007C"])),
            ("ocf-filename-character-forbidden-non-publication-resource-error", .opens(epubType, ["does not allow, U+003C"])),
            ("ocf-filename-duplicate-after-canonical-normalization-error", .opens(epubType, ["two entries are called"])),
            ("ocf-filename-duplicate-after-common-case-folding-error", .opens(epubType, ["differ only in upper and lower case"])),
            ("ocf-filename-duplicate-after-compatibility-normalization-valid", .opens(epubType)),
            ("ocf-filename-duplicate-after-full-case-folding-error", .opens(epubType, ["differ only in upper and lower case"])),
            ("ocf-filename-duplicate-zip-entry-error", .opens(epubType, ["two entries are called"])),
            ("ocf-filename-not-utf8-error", .opens(epubType, ["is not UTF-8"])),
            ("ocf-filename-utf8-valid", .opens(epubType)),
            ("ocf-filepath-not-utf8-error", .opens(epubType, ["is not UTF-8"])),
            ("ocf-filepath-utf8-valid", .opens(epubType)),
            ("ocf-mimetype-file-missing-error", .opens(epubType, ["mimetype"])),
            ("ocf-zip-mimetype-entry-extra-field-error", .opens(epubType, ["extra field"])),
            ("ocf-zip-unreadable-empty-fatal", .refused("opening.parsing-failed")),
            ("ocf-zip-unreadable-image-with-epub-extension-fatal", .refused("opening.parsing-failed")),
            ("ocf-zip-unreadable-no-end-header-fatal", .refused("opening.parsing-failed")),
            ("ocf-zip-valid", .opens(epubType)),
        ].map { (name: String, outcome: Outcome) in ("epub/epubcheck-ocf/\(name).epub", outcome) }
    )

    private static let others: [String: Outcome] = [
        "misc/audiotest.zab": .opens("application/x.readium.zab+zip"),
        "misc/test-comicinfo.cbz": .opens("application/vnd.comicbook+zip"),
        "webpub/basic.webpub": .opens("application/webpub+zip"),
        "webpub/flatland-manifest.json": .opens("application/audiobook+json"),
        // no JSON: a comma too many
        "webpub/flatland-streamer.json": .refused("opening.unsupported-format"),
        "webpub/mobydick-manifest.json": .opens("application/webpub+json"),
        "webpub/rwpm-unencrypted.lcpdf": .opens("application/webpub+zip"),
        "webpub/w3c-manifest.json": .opens("application/ld+json"),
        "webpub/opds/feedbooks_catalog.atom": .refused("opening.unsupported-format"),
        "webpub/opds/opds_2_0.json": .refused("opening.unsupported-format"),
        "webpub/opds/wiki_1_1.opds": .refused("opening.unsupported-format"),
    ]

    private static let samples: [String: Outcome] = [
        "sniffing/audiobook-lcp.unknown": .restricted("application/audiobook+lcp"),
        "sniffing/audiobook-package.unknown": .opens("application/audiobook+zip"),
        "sniffing/audiobook-wrongtype.json": .opens("application/audiobook+json"),
        "sniffing/audiobook.json": .opens("application/audiobook+json"),
        "sniffing/cbz.unknown": .opens("application/vnd.comicbook+zip", Array(repeating: "is empty", count: 8)),
        "sniffing/divina-lcp.unknown": .restricted("application/divina+lcp"),
        "sniffing/divina-package.unknown": .opens("application/divina+zip"),
        "sniffing/divina.json": .opens("application/divina+json"),
        // these two are without a package document
        "sniffing/epub-lcp-without-license.unknown": .refused("opening.parsing-failed"),
        "sniffing/epub-lcp.unknown": .refused("opening.parsing-failed"),
        "sniffing/epub.unknown": .opens("application/epub+zip"),
        "sniffing/html-doctype-case.unknown": .refused("opening.unsupported-format"),
        "sniffing/html.unknown": .refused("opening.unsupported-format"),
        "sniffing/json.unknown": .refused("opening.unsupported-format"),
        "sniffing/lcpl.unknown": .refused("opening.unsupported-format"),
        "sniffing/lpf-index-html.unknown": .refused("opening.parsing-failed"),
        // without the contents that its manifest names
        "sniffing/lpf.unknown": .opens("application/lpf+zip", ["html/toc.html"]),
        "sniffing/opds-authentication.json": .refused("opening.unsupported-format"),
        "sniffing/opds1-entry.unknown": .refused("opening.unsupported-format"),
        "sniffing/opds1-feed.unknown": .refused("opening.unsupported-format"),
        "sniffing/opds2-feed.json": .refused("opening.unsupported-format"),
        "sniffing/opds2-publication.json": .refused("opening.unsupported-format"),
        "sniffing/pdf-lcp.unknown": .restricted("application/pdf+lcp"),
        "sniffing/pdf.unknown": .opens("application/pdf"),
        "sniffing/unknown": .refused("opening.unsupported-format"),
        "sniffing/unknown.zip": .refused("opening.unsupported-format"),
        // no JSON: a comma too many
        "sniffing/w3c-wpub.json": .refused("opening.parsing-failed"),
        "sniffing/webpub-package.unknown": .opens("application/webpub+zip"),
        "sniffing/webpub.json": .opens("application/webpub+json"),
        "sniffing/xhtml.unknown": .refused("opening.unsupported-format"),
        "sniffing/zab.unknown": .opens("application/x.readium.zab+zip"),
    ]

    /// Archives that are not publications: encrypted archives request a password, others have an unsupported format.
    private static let archives: [String: Outcome] = Dictionary(
        uniqueKeysWithValues: [
            "libzip/encrypt-1234", "libzip/encrypt-aes128", "libzip/encrypt-aes128-noentropy", "libzip/encrypt-aes192",
            "libzip/encrypt-aes192-noentropy", "libzip/encrypt-aes256", "libzip/encrypt-aes256-noentropy",
            "libzip/encrypt-pkware-noentropy", "libzip/encrypt-pkware-noentropy-2", "libzip/encrypt", "libzip/encrypt_plus_extra",
            "zip-rs/aes_archive", "zip-rs/ignore_encryption_flag",
        ].map { ("zip/\($0).zip", .refused("opening.credentials-required")) }
            + [
                "libzip/encrypt-none", "libzip/streamed-zip64", "libzip/zip64-3mf", "libzip/zip64", "zip-rs/zip64_demo",
            ].map { ("zip/\($0).zip", .refused("opening.unsupported-format")) }
            + [
                ("zip/libzip/incons-zip64-checkcons-overflow.zip", .refused("opening.parsing-failed")),
                // two archives, of which the second is the comment of the first
                ("zip/libzip/zip64-in-archive-comment.zip", .refused("opening.parsing-failed")),
                ("zip/swift-not-a.zip", .opens("image/jpeg")),
                // pictures and texts
                ("zip/swift-test.zip", .opens("application/vnd.comicbook+zip")),
            ]
    )
}
