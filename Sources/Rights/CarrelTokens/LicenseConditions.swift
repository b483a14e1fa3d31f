// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJSON
package import CarrelRights

/// The terms and obligations of a license in addition to its rights.
///
/// A player that cannot enforce one of its obligations is denied: each is critical.
package struct LicenseConditions: Sendable, Hashable {
    /// Start of the license; nil for its issue.
    package var startsAt: Instant?
    /// Seconds from the issue until the first play; without a term of play, until the end.
    package var storageSeconds: Int?
    /// How often the content is played or read.
    package var playCount: Int?
    /// Maximum number of pixels of a picture.
    package var maxPixels: Int?
    /// Whether plays are counted and reported.
    package var isMetered = false
    /// Seconds after which the service must be contacted during a use.
    package var attendedSeconds: Int?
    /// Characters that may be copied.
    package var copyCharacters: Int?
    /// Pages that may be printed.
    package var printPages: Int?
    /// Whether the content may not leave the app in another format.
    package var forbidsExport = false
    /// A text that is shown over each picture and page: 1 to 255 bytes without control characters.
    package var watermark: String?

    /// The bounds of the numbers.
    package static let storageRange = 1...BusinessRules.maxPlayDuration
    package static let playRange = 1...1_000_000
    package static let pixelRange = 1...1_000_000_000
    package static let attendedRange = 60...86_400
    package static let copyRange = 0...1_000_000_000
    package static let printRange = 0...1_000_000

    /// No condition.
    package init() {}

    /// Whether there is no condition.
    package var isEmpty: Bool { self == Self() }

    /// Whether a license must be kept by its device: a stream is redeemed again for each use, so nothing would be counted.
    /// A limit of 0 copies or pages counts nothing.
    package var needsStore: Bool {
        storageSeconds != nil || playCount != nil || copyCharacters ?? 0 > 0 || printPages ?? 0 > 0
    }

    /// Checks every bound.
    ///
    /// - Throws: `rights.malformed` with the condition.
    package func check() throws(RightsError) {
        let numbers = [
            ("storage period", storageSeconds, Self.storageRange), ("play count", playCount, Self.playRange),
            ("image constraint", maxPixels, Self.pixelRange), ("attended interval", attendedSeconds, Self.attendedRange),
            ("copy limit", copyCharacters, Self.copyRange), ("print limit", printPages, Self.printRange),
        ]
        for (name, number, range) in numbers {
            guard number.map({ range ~= $0 }) ?? true else {
                throw RightsError(.malformed, "the \(name) is not \(range.lowerBound) to \(range.upperBound)")
            }
        }
        if let startsAt {
            guard 0...253_402_300_799_999 ~= startsAt.milliseconds else {
                throw RightsError(.malformed, "the start of a license is out of range")
            }
        }
        if let watermark {
            guard BusinessRules.isText(watermark) else {
                throw RightsError(.malformed, "a watermark has 1 to 255 bytes without control characters")
            }
        }
    }

    /// The obligations of the license.
    package var obligations: [Obligation] {
        var list: [Obligation] = []
        func add(_ kind: Obligation.Kind, _ parameters: JSONObject = [:]) {
            list.append(Obligation(kind, parameters: parameters, isCritical: true))
        }
        if let maxPixels { add(.imageConstraint, ["pixels": .integer(maxPixels)]) }
        if let watermark { add(.watermark, ["payload": .string(watermark)]) }
        if forbidsExport { add(.noExport) }
        if printPages == 0 { add(.noPrint) } else if let printPages { add(.printLimit, ["pages": .integer(printPages)]) }
        if let copyCharacters { add(.copyLimit, ["characters": .integer(copyCharacters)]) }
        if isMetered { add(.metering) }
        if let attendedSeconds { add(.attended, ["seconds": .integer(attendedSeconds)]) }
        return list
    }

    /// The form in tokens and in the service's own license messages.
    package var json: JSONObject {
        var json: JSONObject = [:]
        json["nbf"] = startsAt.map { .integer($0.milliseconds) }
        json["storage"] = storageSeconds.map { .integer($0) }
        json["plays"] = playCount.map { .integer($0) }
        json["pixels"] = maxPixels.map { .integer($0) }
        if isMetered { json["metered"] = true }
        json["attended"] = attendedSeconds.map { .integer($0) }
        json["copy"] = copyCharacters.map { .integer($0) }
        json["print"] = printPages.map { .integer($0) }
        if forbidsExport { json["noExport"] = true }
        json["watermark"] = watermark.map { .string($0) }
        return json
    }

    /// Reads the form.
    ///
    /// - Throws: `rights.malformed` for anything that ``json`` does not write: a condition must not be overlooked.
    package init(_ json: JSON) throws(RightsError) {
        startsAt = json["nbf"]?.int.map { Instant(milliseconds: Int64($0)) }
        storageSeconds = json["storage"]?.int
        playCount = json["plays"]?.int
        maxPixels = json["pixels"]?.int
        isMetered = json["metered"]?.bool ?? false
        attendedSeconds = json["attended"]?.int
        copyCharacters = json["copy"]?.int
        printPages = json["print"]?.int
        forbidsExport = json["noExport"]?.bool ?? false
        watermark = json["watermark"]?.string
        guard !isEmpty, JSON.object(self.json).writeCanonical() == json.writeCanonical() else {
            throw RightsError(.malformed, "the conditions of a license are malformed or of another version")
        }
        try check()
    }
}
