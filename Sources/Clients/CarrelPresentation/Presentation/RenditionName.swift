// SPDX-License-Identifier: Apache-2.0

/// Which tracks a playlist holds, by their places in the outline of the source.
package struct RenditionName: Sendable, Hashable {
    /// Pictures.
    package var video: Int?
    /// Audio, with video or alone.
    package var audio: Int?
    /// Subtitles.
    package var text: Int?
    /// Whether it lists sync pictures alone.
    package var isPictures = false

    /// Whether it has subtitles only, which are served as WebVTT.
    package var isText: Bool { text != nil && video == nil && audio == nil }

    /// The one track by which its segments are cut: pictures, or text, or audio.
    package var main: RenditionName {
        if video != nil { return RenditionName(video: video, isPictures: isPictures) }
        return text != nil ? RenditionName(text: text) : RenditionName(audio: audio)
    }

    package init(video: Int? = nil, audio: Int? = nil, text: Int? = nil, isPictures: Bool = false) {
        self.video = video
        self.audio = audio
        self.text = text
        self.isPictures = isPictures
    }
}

extension RenditionName {
    /// Query fields of a playlist.
    package var query: String {
        var text = ""
        append(to: &text)
        return String(text.dropFirst())
    }

    /// Appends the query fields, each with an ampersand before it.
    package func append(to text: inout String) {
        for (name, place) in [("&video=", video), ("&audio=", audio), ("&text=", self.text)] {
            guard let place else { continue }
            text += name
            text += String(place)
        }
        if isPictures { text += "&pictures=1" }
    }
}
