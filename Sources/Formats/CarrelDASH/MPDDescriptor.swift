// SPDX-License-Identifier: Apache-2.0

/// A scheme with a value (ISO/IEC 23009-1 §5.8.2): Role, Accessibility, SupplementalProperty and the like.
package struct MPDDescriptor: Sendable, Hashable {
    package var scheme: String
    package var value: String?
    package var id: String?

    package init(scheme: String, value: String? = nil, id: String? = nil) {
        self.scheme = scheme
        self.value = value
        self.id = id
    }

    /// The scheme of DASH's own roles, such as `main` and `caption` (§5.8.5.5).
    package static let dashRole = "urn:mpeg:dash:role:2011"
}

/// A text for people (ISO/IEC 23009-1 §5.3.10).
package struct MPDLabel: Sendable, Hashable {
    package var text: String
    package var language: String?
    package var id: String?

    package init(_ text: String, language: String? = nil, id: String? = nil) {
        self.text = text
        self.language = language
        self.id = id
    }
}

/// A base for addresses (ISO/IEC 23009-1 §5.6).
package struct MPDBaseURL: Sendable, Hashable {
    package var url: String
    /// Bases of the same location differ only in their place in time.
    package var serviceLocation: String?
    /// How much earlier than complete segments can be had.
    package var availabilityTimeOffset: MPDTimeOffset?
    package var availabilityTimeComplete: Bool?
    /// A template of byte ranges for servers without HTTP ranges, as written.
    package var byteRange: String?

    package init(_ url: String, serviceLocation: String? = nil) {
        self.url = url
        self.serviceLocation = serviceLocation
    }
}

/// How much earlier than complete a segment can be had (@availabilityTimeOffset).
package enum MPDTimeOffset: Sendable, Hashable {
    case duration(Duration)
    /// `INF`: always.
    case infinite

    init?(_ text: String) {
        if text == "INF" || text == "+INF" {
            self = .infinite
            return
        }
        let isNegative = text.hasPrefix("-")
        guard let duration = XMLDuration.parse("PT\(isNegative ? text.dropFirst() : text[...])S") else { return nil }
        self = .duration(isNegative ? .zero - duration : duration)
    }

    /// The value as an MPD writes it: seconds.
    var text: String {
        switch self {
        case .infinite: "INF"
        case .duration(let duration):
            (duration < .zero ? "-" : "")
                + XMLDuration.text(duration < .zero ? .zero - duration : duration).dropFirst(2).dropLast()
        }
    }

    static func + (left: Self, right: Self?) -> Self {
        switch (left, right) {
        case (let left, nil): left
        case (.duration(let a), .duration(let b)?): .duration(a + b)
        default: .infinite
        }
    }
}

/// An element that a client is to fetch from elsewhere (ISO/IEC 23009-1 §5.5, XLink).
package struct MPDLink: Sendable, Hashable {
    /// The element's name.
    package var element: String
    /// The reference verbatim, relative to the base at its element.
    package var href: String
    /// Whether to fetch it with the MPD (`onLoad`) rather than when it is needed (`onRequest`).
    package var isOnLoad: Bool

    /// The address that stands for nothing: the element is to be removed (§5.5.3).
    package static let nothing = "urn:mpeg:dash:resolve-to-zero:2013"
}
