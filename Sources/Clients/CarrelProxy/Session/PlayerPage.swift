// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource

/// The page that shows a session in a browser: one media element, or why there is nothing to show.
enum PlayerPage {
    /// A page with one element.
    ///
    /// - Parameter address: of the media, relative to the page.
    /// - Returns: the page.
    static func playing(_ address: String) -> HTTPResponse {
        page("<video src=\"\(escaped(address))\" controls autoplay aria-label=\"The media\"></video>", .ok)
    }

    /// A page that shows an error with its recommendation.
    static func failed(_ error: ProxyError) -> HTTPResponse {
        page(
            "<main><h1>This cannot be played</h1><p>\(escaped(error.message))</p><p>\(escaped(error.recommendation))</p></main>",
            error.status
        )
    }

    private static func page(_ body: String, _ status: HTTPStatus) -> HTTPResponse {
        let style = """
            html,body{margin:0;height:100%;background:#000;color:#eee;font:1rem/1.5 system-ui,sans-serif}\
            video{display:block;width:100%;height:100%}\
            main{max-width:40rem;margin:auto;padding:10vh 1rem;overflow-wrap:anywhere}h1{font-size:1.3rem}
            """
        let html = """
            <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Player</title><style>\(style)</style>
            \(body)</html>
            """
        var response = HTTPResponse.html(html, status: status)
        response.headers["Content-Security-Policy"] =
            "default-src 'none'; media-src 'self' blob:; style-src 'unsafe-inline'; frame-ancestors 'none'"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
