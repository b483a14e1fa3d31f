// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelMP4
import CarrelMedia
import CarrelPublication

/// A DCF: its bytes, and the headers of its first object.
struct ProtectedFile: Sendable {
    let source: any MediaSource
    let object: DCFObject

    /// Bytes that show whether a file is a DCF.
    private static let headLength: Int64 = 12

    /// Reads the headers of a file; nil if it is not a DCF.
    ///
    /// - Parameter resource: the file. It is not closed with the source.
    /// - Throws: the errors of reading; `Malformed` for a damaged DCF.
    init?(_ resource: any Resource) async throws {
        guard try await Self.matches(resource) else { return nil }
        let source = BorrowedSource(resource: resource)
        let objects = try await MediaStream.objects(of: source, length: try await resource.length())
        self.source = source
        object = objects[0]
    }

    /// Whether a file is a DCF by its first bytes.
    ///
    /// - Parameter resource: the file.
    /// - Returns: false for a file that is shorter, too.
    /// - Throws: the errors of reading.
    static func matches(_ resource: any Resource) async throws(ResourceError) -> Bool {
        let head = try await resource.read(0..<headLength)
        return head.count == Int(headLength) && head.dropFirst(4).elementsEqual("ftypodcf".utf8)
    }

    /// Whether it is encrypted.
    var isEncrypted: Bool { object.payload.cipher != .none }

    /// The title of the content, in the order of preference: a title of the user data, a header.
    var title: String? {
        let title =
            object.userData.first { $0.type == "titl" }?.text
            ?? object.headers.value(of: "Content-Name") ?? object.headers.value(of: "Title")
        return title.flatMap { $0.isEmpty ? nil : String($0.prefix(Self.titleLimit)) }
    }

    private static let titleLimit = 1000

    /// The names by which the license of the content may be stored.
    var names: [ContentKeyName] {
        (object.headers.groupKey.map { [.group($0.groupID)] } ?? []) + [.content(object.headers.contentID)]
    }
}

/// A resource that its container closes.
private struct BorrowedSource: MediaSource {
    let resource: any Resource

    func open() async throws -> MediaSourceInformation { MediaSourceInformation(length: try await resource.length()) }

    func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let bytes = try await resource.read(range)
        guard bytes.count == range.count else {
            throw Malformed("file ended early", at: Int(range.lowerBound) + bytes.count)
        }
        return bytes
    }

    func close() {}
}
