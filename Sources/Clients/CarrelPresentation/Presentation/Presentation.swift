// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
package import CarrelMediaSource

/// A source as the proxy presents it: variants, the segments of each, and their bytes.
package protocol Presentation: Sendable {
    /// The kind of the source.
    var kind: SourceSummary.Kind { get }

    /// How the source is protected, as far as its playlists or its tables say.
    ///
    /// - Returns: each once.
    /// - Throws: ``ProxyError``.
    func protections() async throws -> [MediaProtection]

    /// The variants and renditions.
    ///
    /// - Returns: the same at every call while the source lasts.
    /// - Throws: ``ProxyError``.
    func outline() async throws -> Outline

    /// The segments of a rendition that exist now. A live source is read again when that is due.
    ///
    /// - Parameter rendition: one of the outline.
    /// - Returns: segments in order.
    /// - Throws: ``ProxyError``.
    func segments(of rendition: RenditionName) async throws -> SegmentList

    /// Opens a segment.
    ///
    /// - Parameter name: of a segment that a list had.
    /// - Returns: its bytes, made as they are taken.
    /// - Throws: ``ProxyError``.
    func open(_ name: SegmentName) async throws -> ServedMedia

    /// The segment behind another, which a player will ask for next.
    ///
    /// - Parameter name: of a segment that a list had.
    /// - Returns: nil behind the last one, and where the next one of a live source does not exist yet.
    func next(after name: SegmentName) async -> SegmentName?

    /// Opens the initialization segment of a rendition, of fragmented output.
    ///
    /// - Parameter name: with the period and the rendition.
    /// - Returns: its bytes.
    /// - Throws: ``ProxyError``.
    func openInitialization(_ name: SegmentName) async throws -> ServedMedia

    /// The file in which the segments of a rendition lie, of fragmented output.
    ///
    /// - Parameter name: with the period and the rendition.
    /// - Returns: where its segments are.
    /// - Throws: ``ProxyError``: `proxy.missing` where segments are resources of their own.
    func file(of name: SegmentName) async throws -> RangedFile

    /// Ends the requests that no response waits for: the session has ended.
    func end()
}

extension Presentation {
    /// Nothing goes on by itself.
    package func end() {}

    /// Nil: nothing is opened ahead of files that are read in ranges.
    package func next(after name: SegmentName) async -> SegmentName? { nil }

    /// Segments are resources of their own.
    package func file(of name: SegmentName) async throws -> RangedFile { throw SegmentName.unknown }
}
