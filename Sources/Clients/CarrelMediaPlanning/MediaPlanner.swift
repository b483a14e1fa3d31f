// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
package import CarrelMediaSource
import CarrelPresentation
import CarrelSavedMedia
import CarrelThreads

/// Plans the download of a source: loads its playlists, manifests, indexes and initialization segments, and lists its pieces.
///
/// The same selection of an unchanged source gives the same streams and pieces, so that expired addresses are found again.
package struct MediaPlanner: Sendable {
    private let origin: MediaOrigin
    private let type: MediaSourceType
    private let parameters: MediaSourceParameters

    /// - Parameters:
    ///   - origin: the origin of the source.
    ///   - type: the kind of the source, as the caller names it.
    ///   - parameters: facts that the caller knows: media type, duration, index, subtitles.
    package init(_ origin: MediaOrigin, _ type: MediaSourceType, _ parameters: MediaSourceParameters = MediaSourceParameters()) {
        self.origin = origin
        self.type = type
        self.parameters = parameters
    }

    /// Plans a download.
    ///
    /// - Parameter selection: the tracks to be saved.
    /// - Returns: the plan. No media were loaded, but the beginning of the first segment if no key line tells whether it is scrambled.
    /// - Throws: ``ProxyError``: `proxy.live` for a live source, `proxy.usage` for a language that is absent, `proxy.manifest`.
    package func plan(_ selection: MediaSelection = MediaSelection()) async throws(ProxyError) -> MediaPlan {
        let recorder = DocumentRecorder()
        let threads = SessionThreads(SharedThreads(limit: SessionThreads.limit, starter: .system))
        defer { threads.end() }
        do {
            let origin = origin.recorded(by: recorder)
            var plan = try await Self.plan(type, origin, parameters, selection, threads)
            try await addSubtitles(to: &plan, origin)
            plan.documents = recorder.documents
            return plan
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(origin.address))
        }
    }

    private static func plan(
        _ type: MediaSourceType,
        _ origin: MediaOrigin,
        _ parameters: MediaSourceParameters,
        _ selection: MediaSelection,
        _ threads: SessionThreads
    ) async throws -> MediaPlan {
        switch type {
        case .hls: try await HLSPlanner(origin, threads, selection).plan()
        case .dash: try await DASHPlanner(origin, threads, selection).plan()
        case .singleFile:
            switch try await OpenedSource.sniff(origin) {
            case .playlist: try await HLSPlanner(origin, threads, selection).plan()
            case .manifest: try await DASHPlanner(origin, threads, selection).plan()
            case .media(let head): try await FilePlanner(origin, threads, parameters, head).plan()
            }
        }
    }

    /// Bytes of a separate subtitle file, as sessions load it.
    private static let subtitlesLimit = 16 << 20

    /// Records the separate subtitle file.
    private func addSubtitles(to plan: inout MediaPlan, _ origin: MediaOrigin) async throws(ProxyError) {
        plan.source.contentType = parameters.sourceContentType ?? plan.source.contentType
        plan.source.durationSeconds = parameters.durationSeconds
        guard let subtitles = parameters.subtitles else { return }
        let address = origin.resolve(subtitles.url)
        _ = try await origin.load(address, limit: Self.subtitlesLimit)
        plan.source.subtitles = SavedSource.Subtitles(name: subtitles.name, language: subtitles.language, address: address)
    }
}
