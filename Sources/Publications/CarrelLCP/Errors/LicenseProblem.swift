// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// The problem document of a license server that refuses a request (RFC 9457; LSD 1.0 §3.5).
public struct LicenseProblem: Sendable, Equatable {
    /// A URI, such as `http://readium.org/license-status-document/error/renew/date`.
    public let type: String
    /// For the user.
    public let title: String
    /// More about this occurrence, for the user.
    public let detail: String?
    /// The HTTP status of the response.
    public let status: Int

    /// Whatever the media type of the response: servers are not particular about it. Nil unless it is a problem document.
    init?(_ bytes: [UInt8], status: Int) {
        guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: 64 << 10)),
            let title = json["title"]?.string ?? json["detail"]?.string
        else { return nil }
        self.type = json["type"]?.string ?? "about:blank"
        self.title = title
        detail = json["detail"]?.string
        self.status = status
    }
}
