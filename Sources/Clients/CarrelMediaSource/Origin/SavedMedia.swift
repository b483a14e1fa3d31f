// SPDX-License-Identifier: Apache-2.0

package import CarrelSavedMedia

/// A saved source, opened to be played without a network.
public struct SavedMedia: Sendable {
    /// The package.
    package let package: SavedPackage

    /// The id of the saved item.
    public var id: String { package.id }
    /// Whether all of its media are saved.
    public var isComplete: Bool { package.isComplete }

    package init(_ package: SavedPackage) {
        self.package = package
    }

    /// The kind of the source.
    package var type: MediaSourceType {
        switch package.source.form {
        case .hls: .hls
        case .dash: .dash
        case .file: .singleFile
        }
    }
}

extension MediaSourceParameters {
    /// These preferences, with the facts that the caller named when the source was saved.
    package func applied(to saved: SavedMedia) -> MediaSourceParameters {
        let source = saved.package.source
        var parameters = self
        parameters.sourceContentType = source.contentType
        parameters.durationSeconds = source.durationSeconds
        parameters.indexURL = source.indexAddress
        parameters.subtitles = source.subtitles.map { Subtitles(name: $0.name, language: $0.language, url: $0.address) }
        return parameters
    }
}
