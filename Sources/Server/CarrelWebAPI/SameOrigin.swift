// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP

/// The proof that one of our pages, and no other, made a browser send a changing request.
///
/// Checked for each request that is authenticated by a cookie, which a browser adds for any page. The router has refused requests
/// with another origin; here, requests without an origin are refused too. Programs other than browsers must send a token instead
/// of cookies.
package enum SameOrigin {
    /// Refuses a request that would change something, unless `Sec-Fetch-Site` (W3C Fetch Metadata §2.4) or `Origin` (RFC 6454
    /// §7), which no page can set, says that it comes from our own pages.
    ///
    /// - Parameter request: the request, whatever its method.
    /// - Throws: 403 `request.other-origin`.
    package static func require(_ request: HTTPRequest) throws(RuleError) {
        guard !request.method.isSafe else { return }
        let (site, origin) = (request.headers["Sec-Fetch-Site"], request.headers["Origin"])
        let isOwn = site.map { $0 == "same-origin" } ?? (origin != nil)
        guard isOwn, origin.map(request.isOwnOrigin) ?? true else {
            throw RuleError(
                .forbidden,
                "request.other-origin",
                "with a cookie, only pages of this server can do this; programs must send a token in the Authorization header"
            )
        }
    }

    /// Whether a text is a path on this server and nothing that a browser could take for another server's address.
    package static func isPath(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "/"), bytes.count <= 512 else { return false }
        return !bytes.dropFirst().starts(with: "/".utf8)
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") }
    }
}
