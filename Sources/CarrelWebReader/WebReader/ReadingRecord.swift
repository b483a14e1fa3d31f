import CarrelBytes
import CarrelJSON
import CarrelPublication

/// What a reader leaves in a publication: the place, highlights and notes.
struct ReadingRecord: Sendable, Equatable {
    var place: Locator?
    /// In the order in which they were made.
    var annotations: [ReaderAnnotation] = []

    /// More are not kept.
    static let annotationLimit = 10_000

    init() {}

    init(_ json: JSON) {
        place = json["place"].flatMap { Locator($0) }
        annotations = json["annotations"].map(ReaderAnnotation.list) ?? []
    }

    var json: JSON {
        var object: JSONObject = ["annotations": .array(annotations.map(\.json))]
        object["place"] = place?.json
        return .object(object)
    }

    /// Puts an annotation in the place of the one with its id, or after the others.
    ///
    /// - Returns: false when there are too many.
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
