// SPDX-License-Identifier: Apache-2.0

public import CarrelJSON

/// A place in a publication (Readium "Locator" model), exact enough to find it again after a change of layout.
public struct Locator: Sendable, Equatable {
    /// The address of the resource, as its link has it.
    public var href: String
    /// The media type of the resource.
    public var mediaType: MediaType
    /// The title of the chapter or section, for a list of bookmarks.
    public var title: String?
    /// Positions in the resource.
    public var locations: Locations
    /// The text at the position.
    public var text: Text

    /// Ways to say where in the resource.
    public struct Locations: Sendable, Equatable {
        /// Fragments, such as `t=15` or an element's id.
        public var fragments: [String] = []
        /// From 0 to 1 in the resource.
        public var progression: Double?
        /// From 0 to 1 in the publication.
        public var totalProgression: Double?
        /// The place in the list of positions, from 1.
        public var position: Int?
        /// Further positions, such as `cssSelector`.
        public var other = JSONObject()

        /// Creates locations that name the resource only.
        public init() {}
    }

    /// The words at the place and around it.
    public struct Text: Sendable, Equatable {
        /// The text before the position.
        public var before: String?
        /// The text at the position, such as a selection.
        public var highlight: String?
        /// The text after the position.
        public var after: String?

        /// Creates a text; each part is optional.
        ///
        /// - Parameters:
        ///   - before: the text before the place.
        ///   - highlight: the text at the place.
        ///   - after: the text after the place.
        public init(before: String? = nil, highlight: String? = nil, after: String? = nil) {
            self.before = before
            self.highlight = highlight
            self.after = after
        }
    }

    /// Creates a locator.
    ///
    /// - Parameters:
    ///   - href: the address of the resource, as its link has it.
    ///   - mediaType: the media type of the resource.
    ///   - title: the title of the chapter or section.
    ///   - locations: positions in the resource.
    ///   - text: the text at the position.
    public init(href: String, mediaType: MediaType, title: String? = nil, locations: Locations = Locations(), text: Text = Text())
    {
        self.href = href
        self.mediaType = mediaType
        self.title = title
        self.locations = locations
        self.text = text
    }

    /// Reads a locator.
    ///
    /// - Parameter json: a locator in the form of `json`. Nil without an address or a media type.
    public init?(_ json: JSON) {
        guard let href = json["href"]?.string, let type = json["type"]?.string.flatMap({ MediaType($0) }) else { return nil }
        self.init(href: href, mediaType: type, title: json["title"]?.string)
        for (name, value) in json["locations"]?.object ?? JSONObject() {
            switch name {
            case "fragments", "fragment": locations.fragments = Link.strings(value)
            case "progression": locations.progression = Self.share(value)
            case "totalProgression": locations.totalProgression = Self.share(value)
            case "position": locations.position = value.int.flatMap { $0 > 0 ? $0 : nil }
            default: locations.other[name] = value
            }
        }
        let words = json["text"]
        text = Text(before: words?["before"]?.string, highlight: words?["highlight"]?.string, after: words?["after"]?.string)
    }

    /// The locator as JSON (Readium "Locator" model), to store and to send. A progression that is infinite or NaN is left out.
    public var json: JSON {
        var object = JSONObject()
        object["href"] = .string(href)
        object["type"] = .string(mediaType.description)
        object["title"] = title.map(JSON.string)
        var places = JSONObject()
        if !locations.fragments.isEmpty { places["fragments"] = .array(locations.fragments.map(JSON.string)) }
        places["progression"] = locations.progression.flatMap { $0.isFinite ? .real($0) : nil }
        places["totalProgression"] = locations.totalProgression.flatMap { $0.isFinite ? .real($0) : nil }
        places["position"] = locations.position.map(JSON.integer)
        for (name, value) in locations.other { places[name] = value }
        if !places.isEmpty { object["locations"] = .object(places) }
        var words = JSONObject()
        words["before"] = text.before.map(JSON.string)
        words["highlight"] = text.highlight.map(JSON.string)
        words["after"] = text.after.map(JSON.string)
        if !words.isEmpty { object["text"] = .object(words) }
        return .object(object)
    }

    private static func share(_ json: JSON) -> Double? { json.double.flatMap { (0...1).contains($0) ? $0 : nil } }
}
