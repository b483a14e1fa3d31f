// SPDX-License-Identifier: Apache-2.0

import CarrelAudio

/// The facts of a part once its frames are in the stream.
struct RecordedPart {
    var name: String
    var tags: AudioTags
    /// Samples of the stream before this part.
    var startSample: Int64
    /// Samples at the part's start that its encoder added.
    var delay: Int
    /// Samples at the part's end that its encoder added.
    var padding: Int
}
