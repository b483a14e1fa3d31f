// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights

/// The streams of an app: the file `Streams.json` of Axinom's sample player, with one field of ours.
///
/// ```swift
/// let list = try StreamList(bytes)
/// if let entry = list["Big Film"] { try entry.check() }
/// ```
///
/// The file is an array of objects with the strings `title`, `videoUrl`, `licenseServer`, `fpsCertificateUrl` and `licenseToken`, and with
/// `allowInsecure` (a Boolean). The first two are required. An empty string is an absent field.
///
/// Source: Axinom DRM Sample Player, "Adding Streams to the Sample".
public struct StreamList: Sendable {
    /// The fields of an entry.
    enum Field: String, CaseIterable {
        case title
        case videoURL = "videoUrl"
        case licenseServer
        case certificateURL = "fpsCertificateUrl"
        case licenseToken
        case allowsPlainHTTP = "allowInsecure"

        /// Bytes of a text, at most.
        var limit: Int {
            switch self {
            case .title, .allowsPlainHTTP: 1024
            case .videoURL, .licenseServer, .certificateURL: 16_384
            case .licenseToken: 65_536
            }
        }
    }

    /// Bytes of a list, at most.
    public static let byteLimit = 4 << 20
    /// Entries of a list, at most.
    public static let entryLimit = 10_000

    /// The streams, in the order of the file.
    public let entries: [StreamEntry]

    /// Reads a list.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: ``StreamListError``: `streams.malformed`, `streams.too-large`, `streams.entry`, `streams.repeated-title`.
    public init(_ bytes: [UInt8]) throws(StreamListError) {
        guard bytes.count <= Self.byteLimit else {
            throw StreamListError(.tooLarge, "the list has \(bytes.count) bytes, and the limit is \(Self.byteLimit)")
        }
        let limits = JSONLimits(depth: 8, byteCount: Self.byteLimit, values: (Field.allCases.count + 1) * Self.entryLimit + 1)
        let value: JSON
        do throws(Malformed) { value = try JSON.parse(bytes.rawSpan, limits: limits) } catch {
            throw StreamListError(.malformed, "the list cannot be read: \(error.message)")
        }
        guard let array = value.array else {
            throw StreamListError(.malformed, "the list is not a JSON array, but \(Self.kind(value))")
        }
        guard array.count <= Self.entryLimit else {
            throw StreamListError(.tooLarge, "the list has \(array.count) entries, and the limit is \(Self.entryLimit)")
        }
        var entries: [StreamEntry] = []
        entries.reserveCapacity(array.count)
        var places: [String: Int] = [:]
        for (index, value) in array.enumerated() {
            let entry = try EntryReader(value, number: index + 1).entry()
            if let earlier = places.updateValue(index + 1, forKey: entry.title) {
                throw StreamListError(
                    .repeatedTitle,
                    "entry \(index + 1) ('\(entry.title)'), field title: entry \(earlier) has the same title"
                )
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// The entry with a title; nil if there is none.
    ///
    /// - Parameter title: the title, as the file has it.
    public subscript(title: String) -> StreamEntry? { entries.first { $0.title == title } }

    /// A type of JSON, as errors name it.
    fileprivate static func kind(_ value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Reads one entry of a list.
private struct EntryReader {
    private let object: JSONObject
    /// The entry, as errors name it.
    private let name: String

    init(_ value: JSON, number: Int) throws(StreamListError) {
        guard let object = value.object else {
            throw StreamListError(.entry, "entry \(number) is not an object, but \(StreamList.kind(value))")
        }
        self.object = object
        let title = object["title"]?.string ?? ""
        name = title.isEmpty ? "entry \(number)" : "entry \(number) ('\(title.prefix(80))')"
    }

    func entry() throws(StreamListError) -> StreamEntry {
        if let unknown = object.names.first(where: { StreamList.Field(rawValue: $0) == nil }) {
            let fields = StreamList.Field.allCases.map(\.rawValue).joined(separator: ", ")
            throw StreamListError(
                .entry,
                "\(name) has the unknown field '\(unknown.prefix(80))'",
                recommendation: "The fields are \(fields)."
            )
        }
        return StreamEntry(
            title: try title(),
            videoURL: try required(.videoURL, address(.videoURL)),
            licenseServer: try address(.licenseServer),
            certificateURL: try address(.certificateURL),
            licenseToken: try token(),
            allowsPlainHTTP: try flag()
        )
    }

    private func failure(_ field: StreamList.Field, _ reason: String) -> StreamListError {
        StreamListError(.entry, "\(name), field \(field.rawValue): \(reason)")
    }

    private func required(_ field: StreamList.Field, _ value: String?) throws(StreamListError) -> String {
        guard let value else { throw failure(field, "it is missing or empty") }
        return value
    }

    /// A text; nil if it is absent or empty.
    private func text(_ field: StreamList.Field) throws(StreamListError) -> String? {
        guard let value = object[field.rawValue] else { return nil }
        guard let text = value.string else { throw failure(field, "it is not a string, but \(StreamList.kind(value))") }
        guard text.utf8.count <= field.limit else { throw failure(field, "it has more than \(field.limit) bytes") }
        return text.isEmpty ? nil : text
    }

    private func title() throws(StreamListError) -> String {
        let title = try required(.title, text(.title))
        guard title.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) else {
            throw failure(.title, "it has control characters")
        }
        return title
    }

    private func address(_ field: StreamList.Field) throws(StreamListError) -> String? {
        guard let text = try text(field) else { return nil }
        guard let address = ServiceAddress(text), ["http", "https"].contains(address.scheme) else {
            throw failure(field, "it is not an address of a server (https, or http)")
        }
        return text
    }

    private func token() throws(StreamListError) -> String? {
        guard let text = try text(.licenseToken) else { return nil }
        guard text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) else { throw failure(.licenseToken, "it is not visible ASCII text") }
        return text
    }

    private func flag() throws(StreamListError) -> Bool {
        guard let value = object[StreamList.Field.allowsPlainHTTP.rawValue] else { return false }
        guard let flag = value.bool else {
            throw failure(.allowsPlainHTTP, "it is neither true nor false, but \(StreamList.kind(value))")
        }
        return flag
    }
}
