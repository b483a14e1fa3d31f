// SPDX-License-Identifier: Apache-2.0

/// A piece of the content of a publication in reading order: a paragraph, a heading, an image (Readium "Content").
public struct ContentElement: Sendable, Equatable {
    /// The role of the piece in the publication. The set grows: always handle roles you do not know.
    public struct Role: RawRepresentable, Sendable, Hashable {
        /// A name that never changes, such as `heading`.
        public let rawValue: String

        /// - Parameter rawValue: a name, also of a role that is not known here.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A block of text, such as a paragraph, an entry of a list or a cell of a table.
        public static let body = Role(rawValue: "body")
        /// The text of a heading; ``ContentElement/headingLevel`` is its level.
        public static let heading = Role(rawValue: "heading")
        /// A picture.
        public static let image = Role(rawValue: "image")
        /// A recording, such as a track of an audiobook.
        public static let audio = Role(rawValue: "audio")
        /// A film.
        public static let video = Role(rawValue: "video")
    }

    /// The role of the piece.
    public let role: Role
    /// The place of the piece; for text, all of its words are the highlight.
    public let locator: Locator
    /// The text, or an image's `alt` text; nil if there is none.
    public let text: String?
    /// The level of a heading, 1 to 6 (`h1` to `h6`); nil for other elements.
    public let headingLevel: Int?
    /// The resource that is shown or played; nil for text.
    public let link: Link?

    init(_ role: Role, at locator: Locator, text: String? = nil, headingLevel: Int? = nil, link: Link? = nil) {
        self.role = role
        self.locator = locator
        self.text = text
        self.headingLevel = headingLevel
        self.link = link
    }
}
