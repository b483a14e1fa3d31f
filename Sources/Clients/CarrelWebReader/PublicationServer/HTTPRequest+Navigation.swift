// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

extension HTTPRequest {
    /// Whether a browser loads the response into a frame (Fetch Metadata, `Sec-Fetch-Dest`).
    var isForFrame: Bool {
        ["iframe", "frame", "embed", "object"].contains(headers["Sec-Fetch-Dest"])
    }

    /// Whether a browser navigates to the response, in a window or a frame.
    var isNavigation: Bool { isForFrame || headers["Sec-Fetch-Dest"] == "document" }
}
