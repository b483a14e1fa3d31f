// SPDX-License-Identifier: Apache-2.0

package import CarrelSavedMedia
import CarrelThreads

/// Records the documents that an origin loads while a download is planned: a package has them, so that its player loads the same.
package final class DocumentRecorder: Sendable {
    private struct Request: Hashable {
        var address: String
        var range: Range<Int64>?
    }

    private struct State {
        var documents: [SavedDocument] = []
        var known: Set<Request> = []
        var size = 0
    }

    private let state = Locked(State())

    /// Bytes of all documents.
    private static let limit = 64 << 20

    package init() {}

    /// The documents, in the order of their first requests.
    package var documents: [SavedDocument] { state.withLock { $0.documents } }

    /// Records a document, unless it is known.
    ///
    /// - Throws: `proxy.manifest` if the source has more documents than a package may have.
    func add(_ document: SavedDocument) throws(ProxyError) {
        try state.withLock { state throws(ProxyError) in
            guard state.known.insert(Request(address: document.address, range: document.range)).inserted else { return }
            state.size += document.bytes.count
            guard state.documents.count < SavedLimits.documents, state.size <= Self.limit else {
                throw ProxyError(
                    .manifest,
                    "the source has more than \(SavedLimits.documents) playlists, manifests and initialization segments, or more than \(Self.limit) bytes of them"
                )
            }
            state.documents.append(document)
        }
    }
}
