// SPDX-License-Identifier: Apache-2.0

/// The media type of a resource by its name.
enum ResourceType {
    private static let types: [String: String] = [
        "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "css": "text/css", "js": "text/javascript",
        "mjs": "text/javascript", "json": "application/json", "xml": "application/xml", "opf": "application/oebps-package+xml",
        "ncx": "application/x-dtbncx+xml", "txt": "text/plain", "svg": "image/svg+xml", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "png": "image/png", "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon",
        "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "mp3": "audio/mpeg",
        "m4a": "audio/mp4", "ogg": "audio/ogg", "wav": "audio/wav", "mp4": "video/mp4", "webm": "video/webm",
        "vtt": "text/vtt", "pdf": "application/pdf", "epub": "application/epub+zip", "zip": "application/zip",
        "webmanifest": "application/manifest+json", "appcache": "text/cache-manifest", "manifest": "text/cache-manifest",
    ]

    static func of(_ path: String) -> String { types[SourceParts.suffix(path)] ?? "application/octet-stream" }

    /// Whether it is a page that a reader can open.
    static func isPage(_ path: String) -> Bool { ["html", "htm", "xhtml"].contains(SourceParts.suffix(path)) }
}
