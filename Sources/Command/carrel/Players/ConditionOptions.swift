// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelTokens

/// The conditions of a license that a token grants.
struct ConditionOptions: ParameterGroup, Sendable {
    var copy: Int?
    var print: Int?
    var noExport = false
    var watermark: String?
    var plays: Int?
    var storage: Int?
    var maxPixels: Int?
    var metering = false
    var attended: Int?
    var notBefore: Instant?

    static var parameters: [Parameter<ConditionOptions>] {
        func number(
            _ path: any WritableKeyPath<ConditionOptions, Int?> & Sendable,
            _ name: String,
            _ value: String,
            _ range: ClosedRange<Int>,
            _ help: String
        ) -> Parameter<ConditionOptions> {
            .option(
                path,
                name,
                value: value,
                help: help,
                group: "Conditions",
                allowed: .only("a number from \(range.lowerBound) to \(range.upperBound)") { range ~= $0 }
            )
        }
        return [
            number(\.copy, "--copy", "characters", LicenseConditions.copyRange, "How many characters may be copied."),
            number(\.print, "--print", "pages", LicenseConditions.printRange, "How many pages may be printed; 0 for none."),
            .flag(\.noExport, "--no-export", help: "Forbid export to other formats.", group: "Conditions"),
            .option(
                \.watermark,
                "--watermark",
                value: "text",
                help: "A text to show over each picture and page.",
                group: "Conditions"
            ),
            number(\.plays, "--plays", "number", LicenseConditions.playRange, "How often it may be played or read."),
            number(
                \.storage,
                "--storage",
                "seconds",
                LicenseConditions.storageRange,
                "Seconds from its issue until the first play; without --play-duration, until its end."
            ),
            number(\.maxPixels, "--max-pixels", "number", LicenseConditions.pixelRange, "Maximum number of pixels of a picture."),
            .flag(\.metering, "--metering", help: "Count plays and report them.", group: "Conditions"),
            number(
                \.attended,
                "--attended",
                "seconds",
                LicenseConditions.attendedRange,
                "Seconds after which the service must be contacted during a use."
            ),
            .option(
                \.notBefore,
                "--not-before",
                help: "When the license begins; default: when it is issued.",
                group: "Conditions"
            ),
        ]
    }

    /// Adds the members of `POST /admin/v1/tokens`.
    func write(to body: inout JSONObject) {
        let numbers = [
            ("copy", copy), ("print", print), ("plays", plays), ("storage", storage), ("maxPixels", maxPixels),
            ("attended", attended),
        ]
        for (name, number) in numbers { body[name] = number.map { .integer($0) } }
        if noExport { body["noExport"] = true }
        if metering { body["metering"] = true }
        body["watermark"] = watermark.map { .string($0) }
        body["notBefore"] = notBefore.map { .string($0.description) }
    }
}
