// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension Metadata {
    /// How content fits the screen (Readium Web Publication Manifest, Presentation module).
    public enum Layout: String, Sendable {
        /// Pages of a fixed size, laid out by the publisher.
        case fixed
        /// Content that flows into any screen.
        case reflowable
        /// One continuous strip.
        case scrolled
    }
}

extension Properties {
    /// How the resource is laid out, where that differs from its publication.
    public var layout: Metadata.Layout? { json["layout"]?.string.flatMap(Metadata.Layout.init) }
}
