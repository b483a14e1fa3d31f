// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
package import CarrelMediaSource

/// A source as the proxy presents it: variants, the segments of each, and their bytes.
package protocol Presentation: Sendable {
    /// The kind of the source.
    var kind: SourceSummary.Kind { get }

    /// How the source is protected, as far as its playlists or its tables say.
    ///
    /// - Parameter use: gets the terms of the keys that are requested.
    /// - Returns: each once.
    /// - Throws: ``ProxyError``.
    func protections(_ use: KeyUse) async throws -> [MediaProtection]

    /// The variants and renditions.
    ///
    /// - Parameter use: gets the terms of the keys that are requested.
    /// - Returns: the same at every call while the source lasts.
    /// - Throws: ``ProxyError``.
    func outline(_ use: KeyUse) async throws -> Outline

    /// The segments of a rendition that exist now. A live source is read again when that is due.
    ///
    /// - Parameters:
    ///   - rendition: one of the outline.
    ///   - use: gets the terms of the keys that are requested.
    /// - Returns: segments in order.
    /// - Throws: ``ProxyError``.
    func segments(of rendition: RenditionName, _ use: KeyUse) async throws -> SegmentList

    /// Opens a segment.
    ///
    /// - Parameters:
    ///   - name: the name of a listed segment.
    ///   - use: gets the terms of the keys that are requested.
    /// - Returns: its bytes, produced on demand.
    /// - Throws: ``ProxyError``.
    func open(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia

    /// The segment after another: the player's likely next request.
    ///
    /// - Parameter name: the name of a listed segment.
    /// - Returns: nil after the last one, or if a live source does not have the next one yet.
    func next(after name: SegmentName) async -> SegmentName?

    /// Opens the initialization segment of a rendition, of fragmented output.
    ///
    /// - Parameters:
    ///   - name: with the period and the rendition.
    ///   - use: gets the terms of the keys that are requested.
    /// - Returns: its bytes.
    /// - Throws: ``ProxyError``.
    func openInitialization(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia

    /// The file that contains the segments of a rendition, for fragmented output.
    ///
    /// - Parameters:
    ///   - name: names the period and the rendition.
    ///   - use: gets the terms of the keys that are requested.
    /// - Returns: the file with the ranges of its segments.
    /// - Throws: ``ProxyError``: `proxy.missing` if segments are separate resources.
    func file(of name: SegmentName, _ use: KeyUse) async throws -> RangedFile

    /// Ends the requests that no response waits for: the session has ended.
    func end()
}

extension Presentation {
    /// No background work to end.
    package func end() {}

    /// Returns nil: files that are read by ranges need no prefetching.
    package func next(after name: SegmentName) async -> SegmentName? { nil }

    /// Segments are resources of their own.
    package func file(of name: SegmentName, _ use: KeyUse) async throws -> RangedFile { throw SegmentName.unknown }
}
