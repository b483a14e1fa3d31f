// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import FoundationEssentials
import Testing

struct `JSON in other encodings` {
    private func decoded(_ text: String, _ decoder: JSONDecoder = JSONDecoder()) throws -> JSON {
        try decoder.decode(JSON.self, from: Data(text.utf8))
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "0"])
    func `has whole numbers of 64 bits exactly, with and without a sign`(text: String) throws {
        let value = try decoded(text)
        #expect(value.write() == Array(text.utf8))
        #expect(try JSONEncoder().encode(value) == Data(text.utf8))
        #expect(try JSONEncoder().encode(parse(text)) == Data(text.utf8))
    }

    @Test func `has longer numbers as the nearest double`() throws {
        for text in ["123456789012345678901234567890", "-9223372036854775809", "0.1000000000000000000001", "1e300"] {
            let value = try decoded(text)
            #expect(value == .real(try #require(Double(text))))
            #expect(try decoded(String(decoding: JSONEncoder().encode(parse(text)), as: UTF8.self)) == value)
        }
    }

    @Test func `refuses numbers that JSON does not have, and keeps texts that only look like them`() throws {
        for number in [Double.infinity, -.infinity, .nan] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            let list = try encoder.encode(["value": [1, number]])
            do {
                let value = try PropertyListDecoder().decode(JSON.self, from: list)
                Issue.record("\(value)")
            } catch DecodingError.dataCorrupted(let context) {
                #expect(context.debugDescription == "JSON has no number \(number)")
                #expect(context.codingPath.map(\.stringValue) == ["value", "Index 1"])
            }
        }
        do {
            let value = try decoded("[1e999]")
            Issue.record("\(value)")
        } catch DecodingError.dataCorrupted {}
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf",
            negativeInfinity: "-inf",
            nan: "nan"
        )
        #expect(try decoded(#"["inf", "-inf", "nan", "1"]"#, decoder) == ["inf", "-inf", "nan", "1"])
    }
}
