// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

struct `JSON values` {
    @Test func `answer for what they are and nothing else`() {
        let value: JSON = ["text": "t", "whole": 3, "part": 3.5, "yes": true, "list": [1], "none": nil]
        #expect(value["text"]?.string == "t" && value["text"]?.int == nil && value["text"]?.bool == nil)
        #expect(value["whole"]?.int == 3 && value["whole"]?.double == 3 && value["whole"]?.string == nil)
        #expect(value["part"]?.int == nil && value["part"]?.double == 3.5)
        #expect(value["yes"]?.bool == true && value["yes"]?.int == nil)
        #expect(value["list"]?.array == [1] && value["list"]?.object == nil)
        #expect(value["none"] == .null && value["none"]?.isNull == true && value["absent"] == nil)
        #expect(value.object?.names == ["text", "whole", "part", "yes", "list", "none"] && value.array == nil)
        #expect(value["list"]?["text"] == nil)
    }

    @Test(
        arguments: [
            ("3", 3), ("3.0", 3), ("3e0", 3), ("30e-1", 3), ("3.5", nil), ("-0", 0), ("9223372036854775807", .max),
            ("9223372036854775808", nil),
            ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("1e-400", 0),
        ] as [(String, Int?)]
    )
    func `are whole numbers when their value is`(text: String, int: Int?) throws {
        #expect(try parse(text).int == int)
    }

    @Test func `are compared by value, and text by its scalars`() throws {
        #expect(try parse("1") == parse("1.0") && parse("1.0") == parse("1") && parse("10e-1") == parse("1.0"))
        #expect(try parse("9223372036854775807") != parse("9223372036854775807.5"), "a double rounds up to 2^63")
        #expect(try parse("9007199254740993") != parse("9007199254740992.0"))
        #expect(JSON.string("\u{e9}") != JSON.string("e\u{301}"))
        #expect(["\u{e9}": 1] as JSON != ["e\u{301}": 1])
        #expect(["a": 1, "b": 2] as JSON == ["b": 2, "a": 1])
        #expect(["a": 1] as JSON != ["a": 1, "b": 2] && [1, 2] as JSON != [2, 1] && JSON.bool(true) != 1 && "" as JSON != nil)
    }

    @Test func `find members among few and among many after any change`() {
        var object = JSONObject()
        var expected: [String: Int] = [:]
        var order: [String] = []
        for step in 0..<400 {
            let name = "m\(step * 37 % 60)"
            if step % 5 == 4 {
                object[name] = nil
                expected[name] = nil
                order.removeAll { $0 == name }
            } else {
                object[name] = .integer(step)
                if expected.updateValue(step, forKey: name) == nil { order.append(name) }
            }
            #expect(object.names == order)
            #expect((0..<60).allSatisfy { object["m\($0)"]?.int == expected["m\($0)"] })
        }
        #expect(object.count > 12)
    }

    @Test(.withoutBacktrace) func `stop the program that names a member twice or writes infinity`() async {
        await #expect(processExitsWith: .failure) { _ = ["a": 1, "a": 2] as JSON }
        await #expect(processExitsWith: .failure) { _ = JSON.real(.infinity) }
    }
}
