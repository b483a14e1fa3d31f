// SPDX-License-Identifier: Apache-2.0

extension Route {
    /// The reason for refusing a state-changing request: a page of another origin made a browser send it, or could have.
    ///
    /// `Sec-Fetch-Site` (W3C Fetch Metadata §2.4) and `Origin` (RFC 6454 §7) are set by browsers and out of a page's reach; other
    /// programs send neither.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - others: the other origins that the route is open to, if it is open at all.
    /// - Returns: 403 or 415; nil if it is not refused.
    func refusal(of request: HTTPRequest, openTo others: OtherOrigins) -> HTTPError? {
        if !acceptsOtherOrigins, !(isOpenToOtherOrigins && others.allows(request)) {
            if let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" {
                return HTTPError.otherOrigin("a page of another origin cannot do this")
            }
            if let origin = request.headers["Origin"], !request.isOwnOrigin(origin) {
                return HTTPError.otherOrigin("a page of another origin cannot do this")
            }
        }
        // The three types that a page may send anywhere without asking first (WHATWG Fetch §2.2.2).
        let simple = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
        if !acceptsForms, let type = request.contentType, simple.contains(type) {
            return HTTPError.mediaType("a form is not accepted here; send application/json")
        }
        return nil
    }
}

extension HTTPRequest {
    /// Whether an `Origin` field names the very origin that this request was sent to.
    ///
    /// - Parameter origin: the field's value.
    /// - Returns: true if scheme, host and port equal the request's.
    public func isOwnOrigin(_ origin: String) -> Bool {
        func normal(_ authority: some StringProtocol, _ scheme: String) -> String {
            let standard = scheme == "https" ? ":443" : ":80"
            let lower = authority.lowercased()
            return lower.hasSuffix(standard) ? String(lower.dropLast(standard.count)) : lower
        }
        let prefix = scheme + "://"
        guard origin.lowercased().hasPrefix(prefix) else { return false }
        return normal(origin.dropFirst(prefix.count), scheme) == normal(authority, scheme)
    }
}
