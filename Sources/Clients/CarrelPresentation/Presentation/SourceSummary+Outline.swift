// SPDX-License-Identifier: Apache-2.0

package import CarrelMediaSource

extension SourceSummary {
    package init(_ kind: Kind, _ outline: Outline) {
        self.init(kind)
        isLive = outline.isLive
        variants = outline.variants.map {
            Variant(bandwidth: $0.bandwidth, codecs: $0.codecs, width: $0.width, height: $0.height)
        }
        audio = (outline.audio.isEmpty ? outline.languages : outline.audio).map(Rendition.init)
        warnings = outline.warnings.map(\.text)
        texts = outline.texts.map(Rendition.init)
    }
}

extension SourceSummary.Rendition {
    package init(_ rendition: Outline.Rendition) {
        self.init(name: rendition.label, language: rendition.language, isDefault: rendition.isDefault)
    }
}
