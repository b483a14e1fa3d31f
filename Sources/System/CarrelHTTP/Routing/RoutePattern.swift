// SPDX-License-Identifier: Apache-2.0

/// A route's pattern taken apart: `v1/stream/hls/{order}/{ticket}/{n}.ts`.
struct RoutePattern: Sendable {
    /// One segment of a pattern.
    enum Part: Sendable, Hashable {
        case literal(String)
        /// `prefix{name}suffix`: at least one character between the two.
        case parameter(name: String, prefix: String, suffix: String)
        /// `{name...}`: this segment and all after it.
        case rest(name: String)
    }

    let parts: [Part]
    /// Whether the path may also end in a slash (`{/}` at the end of the pattern).
    let allowsTrailingSlash: Bool

    init(_ pattern: String) {
        var text = Substring(pattern)
        allowsTrailingSlash = text.hasSuffix("{/}")
        if allowsTrailingSlash { text.removeLast(3) }
        if text.hasPrefix("/") { text.removeFirst() }
        parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Self.part($0, of: pattern) }
        for case .rest in parts.dropLast() { preconditionFailure("\(pattern): {…...} must be last") }
    }

    private static func part(_ text: Substring, of pattern: String) -> Part {
        guard let open = text.firstIndex(of: "{") else {
            precondition(!text.contains("}"), "\(pattern): a brace is not opened")
            return .literal(String(text))
        }
        guard let close = text.firstIndex(of: "}"), open < close else { preconditionFailure("\(pattern): a brace is not closed") }
        let name = text[text.index(after: open)..<close]
        let suffix = text[text.index(after: close)...]
        precondition(!name.isEmpty && !suffix.contains("{"), "\(pattern): one named part for each segment")
        if name.hasSuffix("...") { return .rest(name: String(name.dropLast(3))) }
        return .parameter(name: String(name), prefix: String(text[..<open]), suffix: String(suffix))
    }
}
