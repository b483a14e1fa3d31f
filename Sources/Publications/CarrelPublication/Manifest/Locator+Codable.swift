// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// As Readium's toolkits write a locator: the members of ``Locator/json``.
extension Locator: Codable {
    /// Decodes a locator.
    ///
    /// - Parameter decoder: a decoder of any format.
    /// - Throws: `DecodingError.dataCorrupted` without an address or a media type.
    public init(from decoder: any Decoder) throws {
        guard let locator = Locator(try JSON(from: decoder)) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a locator has an href and a type")
            )
        }
        self = locator
    }

    /// Encodes the locator.
    ///
    /// - Parameter encoder: an encoder of any format.
    /// - Throws: `EncodingError`, as the encoder does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
