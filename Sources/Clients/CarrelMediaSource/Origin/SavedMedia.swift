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

    /// What the caller knew about the source when it was saved.
    package var parameters: MediaSourceParameters {
        let source = package.source
        var parameters = MediaSourceParameters()
        parameters.sourceContentType = source.contentType
        parameters.durationSeconds = source.durationSeconds
        parameters.indexURL = source.indexAddress
        parameters.subtitles = source.subtitles.map {
            MediaSourceParameters.Subtitles(name: $0.name, language: $0.language, url: $0.address)
        }
        return parameters
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
