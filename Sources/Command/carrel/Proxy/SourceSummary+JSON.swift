// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelMediaSource
import CarrelProxy

extension SourceSummary {
    /// The facts as `--json` has them.
    var json: JSON {
        [
            "kind": .string(kind.rawValue), "live": .bool(isLive), "duration": duration.map { .seconds($0) } ?? .null,
            "variants": .array(
                variants.map { variant in
                    [
                        "bandwidth": .integer(variant.bandwidth), "codecs": .optional(variant.codecs),
                        "width": variant.width.map { .integer($0) } ?? .null,
                        "height": variant.height.map { .integer($0) } ?? .null,
                    ]
                }
            ),
            "audio": .array(audio.map(Self.json)), "subtitles": .array(texts.map(Self.json)),
            "protection": .array(protections.map { .string("\($0)") }), "warnings": .array(warnings.map { .string($0) }),
        ]
    }

    private static func json(_ rendition: Rendition) -> JSON {
        [
            "name": .string(rendition.name), "language": .optional(rendition.language),
            "default": .bool(rendition.isDefault),
        ]
    }
}
