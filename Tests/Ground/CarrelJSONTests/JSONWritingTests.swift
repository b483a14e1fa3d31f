// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import Testing

struct `Writing JSON` {
    @Test(arguments: [
        "null", "true", "[]", "{}", "[1,-2,[],{}]", #"{"b":1,"a":[null,{"c":""}]}"#, "1.50", "1E5", "-0", "-0.0",
        "18446744073709551616",
        "0.1000000000000000055511151231257827", #""\u0000\u001f\b\t\n\f\r\"\\""#, "\"é€😀/\u{7f}\u{2028}\"",
    ])
    func `gives compact text back as it was`(text: String) throws {
        #expect(try parse(text).description == text)
    }

    @Test func `keeps the order in which members were added`() {
        let id = "4e5f"
        var object: JSONObject = ["id": .string(id), "n": 3, "ratio": 0.25, "list": [1, "two", nil, true]]
        object["n"] = nil
        object["id"] = "new"
        object["z"] = ["a\(id)"]
        #expect(JSON.object(object).description == #"{"id":"new","ratio":0.25,"list":[1,"two",null,true],"z":["a4e5f"]}"#)
    }

    @Test func `appends to existing text`() {
        var out = Array("x=".utf8)
        (["a": 1] as JSON).write(into: &out)
        JSON.null.write(into: &out)
        #expect(String(decoding: out, as: UTF8.self) == #"x={"a":1}null"#)
    }

    @Test func `sets it out for people`() {
        let value: JSON = ["title": "A", "chapters": [["start": 0], [:]], "tags": []]
        #expect(
            String(decoding: value.writePretty(), as: UTF8.self) == """
                {
                  "title": "A",
                  "chapters": [
                    {
                      "start": 0
                    },
                    {}
                  ],
                  "tags": []
                }
                """
        )
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "0"), (1, "1"), (-1.5, "-1.5"), (0.1, "0.1"), (100, "100"), (1e15, "1000000000000000"),
            (123.456, "123.456"),
            (1 / 3, "0.3333333333333333"), (1579114733.977, "1579114733.977"),
        ] as [(Double, String)]
    )
    func `writes doubles with as few digits as give them back`(value: Double, text: String) {
        #expect(JSON.real(value).description == text)
    }
}

struct `Canonical JSON` {
    /// RFC 8785, appendix B.
    @Test(
        arguments: [
            (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"), (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"), (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"), (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"), (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"), (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"), (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"), (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"), (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"), (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] as [(UInt64, String)]
    )
    func `writes the numbers of RFC 8785`(bits: UInt64, text: String) throws {
        let number = JSONNumber(Double(bitPattern: bits))
        #expect(number.canonicalText == text)
        #expect(try parse(text).double == Double(bitPattern: bits))
    }

    /// RFC 8785 §3.2.2 and §3.2.4.
    @Test func `writes the example of RFC 8785`() throws {
        let value = try parse(
            #"""
            {
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            }
            """#
        )
        #expect(
            String(decoding: value.writeCanonical(), as: UTF8.self)
                == #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        )
    }

    /// RFC 8785 §3.2.3.
    @Test func `sorts names by their UTF-16 code units`() throws {
        let value = try parse(
            #"""
            {
              "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
              "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
            }
            """#
        )
        let order = try JSON.parse(value.writeCanonical().rawSpan).object?.map { $0.value.string ?? "" }
        #expect(
            order == [
                "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign", "Emoji: Grinning Face",
                "Hebrew Letter Dalet With Dagesh",
            ]
        )
    }

    @Test func `is the same for the same value however it was written`() throws {
        let values = try [#"{"b":[1.0,10e-1],"a":{"d":1,"c":2}}"#, " { \"\\u0061\" : {\"c\":2,\"d\":1} , \"b\":[1,1] } "].map {
            try parse($0)
        }
        #expect(values[0] == values[1])
        #expect(values[0].writeCanonical() == values[1].writeCanonical())
        #expect(values[0].description == #"{"b":[1.0,10e-1],"a":{"d":1,"c":2}}"#)
        #expect(try JSON.parse(values[0].writeCanonical().rawSpan) == values[0])
    }
}
