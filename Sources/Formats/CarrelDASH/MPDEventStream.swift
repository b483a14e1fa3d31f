// SPDX-License-Identifier: Apache-2.0

/// An event stream next to the media (ISO/IEC 23009-1 §5.10.2), or the declaration of events in segments (InbandEventStream).
package struct MPDEventStream: Sendable, Hashable {
    /// One event.
    package struct Event: Sendable, Hashable {
        /// In units of the stream's timescale.
        package var presentationTime: Int64 = 0
        package var duration: Int64?
        package var id: String?
        /// @messageData, or the text in the element.
        package var message: String?

        package init() {}
    }

    package var scheme: String
    package var value: String?
    package var timescale: Int64 = 1
    package var presentationTimeOffset: Int64 = 0
    package var events: [Event] = []
    package var link: MPDLink?

    package init(scheme: String, value: String? = nil) {
        self.scheme = scheme
        self.value = value
    }
}
