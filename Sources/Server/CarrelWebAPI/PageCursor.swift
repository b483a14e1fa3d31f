// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHome

/// The end of a page of a list: `next` of one page is `after` of the following.
package enum PageCursor {
    package static func text(_ created: Instant, _ id: String) -> String { "\(created.milliseconds)_\(id)" }

    package static func parse(_ text: String?) throws(ServerError) -> (Instant, String)? {
        guard let text else { return nil }
        guard let at = text.firstIndex(of: "_"), let created = Int64(text[..<at]) else {
            throw ServerError(.invalid, "\"after\" must be the \"next\" of an earlier page")
        }
        return (Instant(milliseconds: created), String(text[text.index(after: at)...]))
    }
}
