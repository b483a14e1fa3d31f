// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import Testing

struct `Reading JSON` {
    @Test(
        arguments: [
            ("null", nil), (" \t\r\n true \t\r\n ", true), ("false", false), ("0", 0), ("-0", 0), ("-1", -1), ("12", 12),
            ("9223372036854775807", .integer(Int64.max)), ("-9223372036854775808", .integer(Int64.min)), ("0.5", 0.5),
            ("-0.5e2", -50),
            ("1E+2", 100), ("1e-2", 0.01), ("1e-999", 0), ("\"\"", ""), ("\"a\"", "a"), ("[]", []), ("[ ]", []), ("{}", [:]),
            ("{ }", [:]),
            ("[1,[2],{}]", [1, [2], [:]]), ("[1 , 2]", [1, 2]), (#"{"a":1,"b":{"c":[null]}}"#, ["a": 1, "b": ["c": [nil]]]),
            (#"{ "a" : 1 , "b" : 2 }"#, ["b": 2, "a": 1]), (#"{"":0}"#, ["": 0]),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9\u20aC\u0000""#, "Aé€\0"),
            (#""\ud83d\ude00""#, "😀"),
            (#""\uD800\uDC00\uDBFF\uDFFF""#, "\u{10000}\u{10ffff}"), (#""a\u0042é""#, "aBé"),
            ("\"é€😀\u{7f}\u{2028}\"", "é€😀\u{7f}\u{2028}"),
            (#"{"é":1,"e\u0301":2}"#, ["\u{e9}": 1, "e\u{301}": 2]),
        ] as [(String, JSON)]
    )
    func `takes what RFC 8259 allows`(text: String, value: JSON) throws {
        #expect(try parse(text) == value)
    }

    @Test(arguments: [
        // nothing, too little, too much
        "", " ", "nul", "tru", "fals", "nulll", "truefalse", "1 2", "1,", "{}{}", "[]]", "{}}", "null\0", "\u{feff}1", "#", "'a'",
        "a", "NaN",
        "Infinity", "-Infinity", "True", "// 1", "1 // 1", "/* */ 1", "\u{a0}1", "\u{c}1", "\u{b}1",
        // numbers
        "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1e-", "1E", "0x1", "0e", "0.", "--1", "1_000",
        "1.2.3", "1e1.5",
        "1e999", "-1e999", "１",
        // arrays and objects
        "[", "]", "[1", "[1,", "[,1]", "[1,]", "[1,,2]", "[1 2]", "[1:2]", "{", "}", "{1:2}", "{a:1}", "{'a':1}", #"{"a""#,
        #"{"a":"#, #"{"a":1"#,
        #"{"a":1,"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a",1}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#, #"{"a"}"#, #"{"a":}"#, "{null:1}",
        "[}", "{]",
        #"{"a":1]"#, "[1}",
        // names that come twice
        #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#, #"[{"b":{"a":1,"c":2,"a":3}}]"#,
        // strings
        "\"", "\"a", #""\"#, #""\""#, #""\a""#, #""\x41""#, #""\'""#, #""\u""#, #""\u00""#, #""\u004""#, #""\u004g""#,
        #""\U0041""#, #""\u+041""#,
        #""\u{41}""#, "\"\n\"", "\"\t\"", "\"\0\"", "\"\u{1f}\"", "\"\\\n\"", "\"a\" \"b\"", "\\u0031",
        // halves of surrogate pairs
        #""\ud800""#, #""\udc00""#, #""\ud800a""#, #""\ud800\n""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\udc00\ud800""#,
        #""\ud83d\ude0""#,
        #""\ud800\udbff""#,
    ])
    func `refuses what RFC 8259 does not allow`(text: String) {
        #expect(throws: Malformed.self) { try parse(text) }
    }

    @Test(
        arguments: [
            [0x80], [0xff], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
            [0xf0, 0x80, 0x80, 0x80],
            [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc3, 0x28],
        ] as [[UInt8]]
    )
    func `refuses bytes that are not UTF-8, wherever they are`(bad: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        for text in [
            [quote] + bad + [quote], [quote, 0x61] + bad + Array("\\n\"".utf8), Array("{\"".utf8) + bad + Array("\":1}".utf8),
            bad,
            Array("\"\\u00e9".utf8) + bad + [quote],
        ] {
            #expect(throws: Malformed.self) { try JSON.parse(text.rawSpan) }
        }
    }

    @Test func `refuses UTF-8 that an escape cuts in two`() {
        let text = [UInt8(ascii: "\""), 0xc3] + Array("\\n".utf8) + [0xa9, UInt8(ascii: "\"")]
        #expect(throws: Malformed.self) { try JSON.parse(text.rawSpan) }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, Malformed("JSON object names a member twice", at: 7)),
        ("[1,2", Malformed("JSON array is cut off", at: 4)),
        ("[1] x", Malformed("JSON text goes on after its value", at: 4)),
        ("[\"ab\\ud800\"]", Malformed("JSON string has half a surrogate pair", at: 4)),
        ("[01]", Malformed("JSON number begins with a zero", at: 1)),
        ("  [1e400]", Malformed("JSON number is out of range", at: 3)),
    ])
    func `says what is wrong and where`(text: String, error: Malformed) {
        #expect(throws: error) { try parse(text) }
    }

    @Test func `says where bytes stop being UTF-8`() {
        let text = Array("[\"é".utf8) + [0xff, UInt8(ascii: "\""), UInt8(ascii: "]")]
        #expect(throws: Malformed("JSON string is not UTF-8", at: 4)) { try JSON.parse(text.rawSpan) }
    }

    @Test func `goes as deep as it may and no deeper`() throws {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(throws: Never.self) { try parse(nested(64)) }
        #expect(throws: Malformed("JSON text is nested too deeply", at: 64)) { try parse(nested(65)) }
        #expect(throws: Malformed.self) { try parse(String(repeating: "[", count: 100_000)) }
        #expect(throws: Malformed.self) { try parse(String(repeating: #"{"a":"#, count: 100_000)) }
        #expect(throws: Never.self) { try parse(nested(512), JSONLimits(depth: 512)) }
        #expect(throws: Never.self) { try parse("[[],[[]],[]]", JSONLimits(depth: 3)) }
        #expect(throws: Malformed("JSON text is nested too deeply", at: 2)) { try parse("[[[]]]", JSONLimits(depth: 2)) }
    }

    @Test func `takes as many bytes as it may and no more`() {
        #expect(throws: Never.self) { try parse("[1234567]", JSONLimits(byteCount: 9)) }
        #expect(throws: Malformed("JSON text is longer than 8 bytes", at: 8)) { try parse("[1234567]", JSONLimits(byteCount: 8)) }
    }

    @Test func `finds a name that comes twice among very many without trouble`() {
        let members = (0..<20_000).map { "\"name\($0)\":\($0)" }
        #expect(throws: Never.self) { try parse("{" + members.joined(separator: ",") + "}") }
        #expect(throws: Malformed.self) { try parse("{" + members.joined(separator: ",") + ",\"name0\":0}") }
    }

    static let document = #"""
        {"orderId":"4e5f","states":[{"startUtc":"2020-01-15T18:58:53.977Z","position":-12.50e+1,"ok":true,"é\u20ac\ud83d\ude00":null}],"n":[0,false]}
        """#

    @Test func `refuses a document cut off anywhere`() throws {
        let whole = Array(Self.document.utf8)
        #expect(throws: Never.self) { try JSON.parse(whole.rawSpan) }
        for end in whole.indices {
            #expect(throws: Malformed.self, "cut at \(end)") { try JSON.parse(whole.rawSpan.extracting(first: end)) }
        }
    }

    @Test func `gives a document with any byte changed an answer, and writes what it takes as it was read`() throws {
        let whole = Array(Self.document.utf8)
        for index in whole.indices {
            for byte in [0, 0x20, 0x22, 0x2c, 0x30, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x80, 0xc3, 0xff] as [UInt8] {
                var changed = whole
                changed[index] = byte
                guard let value = try? JSON.parse(changed.rawSpan) else { continue }
                #expect(try JSON.parse(value.write().rawSpan) == value)
            }
        }
    }
}

func parse(_ text: String, _ limits: JSONLimits = .default) throws(Malformed) -> JSON {
    try JSON.parse(Array(text.utf8).rawSpan, limits: limits)
}
