import CarrelHTTP

/// What a state-changing request has to show when a cookie says whom it comes from: browsers send cookies along with requests
/// that pages of others made them send.
///
/// Every route refuses a request that says it comes from elsewhere. Here a request that does not say where it comes from is
/// refused too. `Sec-Fetch-Site` (W3C Fetch Metadata §2.4) and `Origin` (RFC 6454 §7) are out of a page's reach, and every
/// browser of the last years sends one of them with each POST.
enum SameOrigin {
    /// - Throws: 403 `request.other-origin` unless the browser says that one of our own pages sent the request.
    static func require(_ request: HTTPRequest) throws(HTTPError) {
        guard isProven(request) else {
            throw HTTPError(.forbidden, "request.other-origin", "only a page of this server can do this")
        }
    }

    /// Whether the browser says so, and nothing says otherwise.
    static func isProven(_ request: HTTPRequest) -> Bool {
        let site = request.headers["Sec-Fetch-Site"]
        let origin = request.headers["Origin"]
        if let site, site != "same-origin" { return false }
        if let origin, !request.isOwnOrigin(origin) { return false }
        return site != nil || origin != nil
    }
}
