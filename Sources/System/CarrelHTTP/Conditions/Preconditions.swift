// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Evaluates a request's conditions against what there is (RFC 9110 §13).
public struct Preconditions: Sendable {
    /// The action that the preconditions require.
    public enum Outcome: Sendable, Hashable {
        /// Answer it; `useRange` says whether a `Range` field counts.
        case proceed(useRange: Bool)
        /// Answer 304: the client has it.
        case notModified
        /// Answer 412.
        case failed
    }

    /// The tag of the current representation, if any.
    public var tag: EntityTag?
    /// When it last changed, if that is known.
    public var lastModified: Instant?

    /// Conditions on something that exists.
    ///
    /// - Parameters:
    ///   - tag: the current tag of the resource; nil if it has none.
    ///   - lastModified: the time of its last change; nil if that is unknown.
    public init(tag: EntityTag? = nil, lastModified: Instant? = nil) {
        self.tag = tag
        self.lastModified = lastModified
    }

    /// The steps of RFC 9110 §13.2.2.
    public func evaluate(_ request: HTTPRequest) -> Outcome {
        let reads = request.method == .get || request.method == .head
        let headers = request.headers
        if let match = headers.list("If-Match") {
            guard EntityTagList(parsing: match).matchesStrongly(tag) else { return .failed }
        } else if let since = date(headers["If-Unmodified-Since"]), let modified = wholeSecond {
            guard modified <= since else { return .failed }
        }
        if let match = headers.list("If-None-Match") {
            if EntityTagList(parsing: match).matchesWeakly(tag) { return reads ? .notModified : .failed }
        } else if reads, let since = date(headers["If-Modified-Since"]), let modified = wholeSecond, modified <= since {
            return .notModified
        }
        return .proceed(useRange: reads && rangeCounts(headers["If-Range"]))
    }

    /// RFC 9110 §13.1.5: a strong tag that is the same, or the very date.
    private func rangeCounts(_ field: String?) -> Bool {
        guard let field else { return true }
        if let requestTag = EntityTag(parsing: field) { return tag?.matchesStrongly(requestTag) == true }
        guard let requestDate = date(field), let modified = wholeSecond else { return false }
        return requestDate == modified
    }

    private func date(_ field: String?) -> Instant? {
        field.flatMap { Instant.parse(httpDate: $0) }
    }

    /// Dates in fields have no parts of a second.
    private var wholeSecond: Instant? {
        lastModified.map { Instant(milliseconds: $0.milliseconds - ($0.milliseconds % 1000 + 1000) % 1000) }
    }
}
