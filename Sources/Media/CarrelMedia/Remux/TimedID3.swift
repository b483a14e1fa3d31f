// SPDX-License-Identifier: Apache-2.0

/// Event messages whose data are ID3 tags (Carriage of ID3 Timed Metadata in CMAF §4).
package enum TimedID3 {
    /// The schemes of ID3 tags, in lower case.
    package static let schemes: Set<String> = ["https://aomedia.org/emsg/id3", "https://developer.apple.com/streaming/emsg-id3"]
}
