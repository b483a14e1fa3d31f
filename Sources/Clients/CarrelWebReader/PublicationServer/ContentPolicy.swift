// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The permissions of a publication's resources in a browser.
enum ContentPolicy {
    /// The `Content-Security-Policy` of every resource (CSP Level 3): scripts run, without an origin, and load only what is served
    /// here. Style in markup and `data:` pictures, fonts and sounds are what books are made with; script in markup is refused.
    static let value = [
        "sandbox allow-scripts", "default-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:",
        "font-src 'self' data:", "media-src 'self' data:", "object-src 'none'", "base-uri 'self'", "frame-ancestors 'self'",
        "webrtc 'block'",
    ].joined(separator: "; ")

    /// The header fields of every resource. Content that is protected on its owner's disk must not be stored there again as plain
    /// text, so no browser may cache it.
    static func fields(isProtected: Bool) -> HTTPFields {
        var fields = common
        fields["Cache-Control"] = isProtected ? "no-store" : "private, no-cache"
        return fields
    }

    private static let common: HTTPFields = [
        "Content-Security-Policy": value,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "X-DNS-Prefetch-Control": "off",
        // a document without an origin loads its own fonts and modules cross-origin; the caller knows the token
        "Access-Control-Allow-Origin": "*",
    ]
}
