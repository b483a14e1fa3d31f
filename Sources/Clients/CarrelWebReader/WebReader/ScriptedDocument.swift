// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelXML

/// A document of a publication with the reader's scripts before its own content, which turn its pages.
final class ScriptedDocument: Resource {
    let link: Link
    private let document: any Resource
    /// The syntax around the script.
    private let place: Int64

    /// With a namespace of their own, so that they are scripts whatever the document calls its elements.
    private static let script = Array(
        ["read-words.js", "read-styles.js", "read-frame.js"]
            .map { #"<script xmlns="http://www.w3.org/1999/xhtml" src="/assets/\#($0)"></script>"# }.joined().utf8
    )
    /// Bytes in which the root element must begin.
    private static let headSize: Int64 = 64 << 10

    private init(_ document: any Resource, at place: Int64) {
        link = document.link
        self.document = document
        self.place = place
    }

    /// Adds the script to a document.
    ///
    /// - Parameter document: HTML, XHTML or SVG, in UTF-8 or another superset of ASCII, or in UTF-16.
    /// - Returns: the document with the script, in UTF-8 instead of UTF-16; nil if no place for a script is found.
    /// - Throws: the errors of reading it.
    static func adding(to document: any Resource) async throws(ResourceError) -> (any Resource)? {
        let head = try await document.read(0..<headSize)
        guard UTF16Decoder(head: head) != nil else {
            return RootTag.end(in: head).map { ScriptedDocument(document, at: Int64($0)) }
        }
        guard try await document.length() <= UTF16Document.limit else { return nil }
        let bytes = try await document.read(upTo: UTF16Document.limit)
        guard let text = await UTF16Document.utf8(bytes), let place = RootTag.end(in: Array(text.prefix(Int(headSize))))
        else { return nil }
        var link = document.link
        link.mediaType = MediaType("\(MediaType(ServedResource.mediaType(of: link))?.essence ?? "text/html");charset=utf-8")
        document.close()
        return ScriptedDocument(BytesResource(link, text), at: Int64(place))
    }

    func length() async throws(ResourceError) -> Int64 { try await document.length() + Int64(Self.script.count) }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let end = place + Int64(Self.script.count)
        let before = range.clamped(to: 0..<place)
        if !before.isEmpty { try await document.read(before, into: &buffer) }
        let own = range.clamped(to: place..<end)
        if !own.isEmpty { buffer += Self.script[Int(own.lowerBound - place)..<Int(own.upperBound - place)] }
        let after = range.clamped(to: end..<Int64.max)
        guard !after.isEmpty else { return }
        let count = Int64(Self.script.count)
        try await document.read(after.lowerBound - count..<after.upperBound - count, into: &buffer)
    }

    func close() { document.close() }
}
