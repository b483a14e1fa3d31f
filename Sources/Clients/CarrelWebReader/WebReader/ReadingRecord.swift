// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// Highlights and notes that a reader leaves in a publication. The place is kept by itself: it changes with every page.
struct ReadingRecord: Sendable, Equatable {
    /// In the order in which they were made.
    var annotations: [ReaderAnnotation] = []

    /// More are not kept.
    static let annotationLimit = 10_000

    init() {}

    init(_ json: JSON) {
        annotations = json["annotations"].map(ReaderAnnotation.list) ?? []
    }

    /// The JSON form in its file.
    var json: JSON {
        ["annotations": .array(annotations.map(\.json))]
    }

    /// Replaces the annotation with the same id, or appends a new one.
    ///
    /// - Returns: false if there are too many.
    mutating func put(_ annotation: ReaderAnnotation) -> Bool {
        if let at = annotations.firstIndex(where: { $0.id == annotation.id }) {
            annotations[at] = annotation
            return true
        }
        guard annotations.count < Self.annotationLimit else { return false }
        annotations.append(annotation)
        return true
    }
}
