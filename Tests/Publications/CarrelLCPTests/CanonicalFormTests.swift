// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelLCP

@Suite("The canonical form")
struct CanonicalFormTests {
    private func form(_ text: String, _ form: CanonicalForm) throws -> String {
        let bytes = Array(text.utf8)
        return String(decoding: form.bytes(of: try #require(JSON.parse(bytes.rawSpan).object)), as: UTF8.self)
    }

    @Test(arguments: CanonicalForm.allCases)
    func `has members in the order of their code points, arrays in theirs, and neither signature nor white space`(
        _ kind: CanonicalForm
    ) throws {
        let text = #"{ "b": [3, 1, {"z": null, "a": true}], "\ud83d\ude00": 2, "\uff5e": 1, "a": "é", "signature": {}, "B": {} }"#
        #expect(try form(text, kind) == #"{"B":{},"a":"é","b":[3,1,{"a":true,"z":null}],"～":1,"😀":2}"#)
    }

    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("10", "10"), ("1.0", "1"), ("1e2", "100"), ("0.5", "5E-1"), ("12.50", "1.25E1"),
        ("-0.00120", "-1.2E-3"), ("1234.5e1", "12345"), ("100000000000000000000000", "100000000000000000000000"), ("0.0", "0"),
        ("1.5E+300", "15" + String(repeating: "0", count: 299)),
        // a reader must survive nonsensical numbers
        ("1.5e-9223372036854775808", "1.5e-9223372036854775808"), ("1e-99999999999999999999", "1e-99999999999999999999"),
    ])
    func `of a number has no useless zeroes, and an exponent where it is not whole`(received: String, canonical: String) throws {
        #expect(try form(#"{"n":\#(received)}"#, .strict) == #"{"n":\#(canonical)}"#)
        #expect(try form(#"{"n":\#(received)}"#, .reference) == #"{"n":\#(received)}"#)
    }

    @Test func `of a text escapes what it must, each form in its way`() throws {
        let text = #"{"t":"a\u000ab\u001f\u0008\"\\\/\u007f\u2028é"}"#
        #expect(try form(text, .strict) == "{\"t\":\"a\\u000Ab\\u001F\\u0008\\\"\\\\/\u{7f}\u{2028}é\"}")
        #expect(try form(text, .reference) == "{\"t\":\"a\\nb\\u001f\\b\\\"\\\\/\u{7f}\\u2028é\"}")
    }

    @Test func `is what Python makes of the same document`() async throws {
        let python = try requirePeer("python3")
        let text = #"{"links":[{"rel":"b","href":"ü/ /\u00e9"},{"a":1}],"id":"x","é":{"z":[],"a":{}},"n":-5,"t":"日本"}"#
        let program =
            "import json,sys;sys.stdout.write(json.dumps(json.load(sys.stdin),sort_keys=True,separators=(',',':'),ensure_ascii=False))"
        let output = try await runProcess([python, "-X", "utf8", "-c", program], input: Array(text.utf8)).output
        #expect(try form(text, .strict) == String(decoding: output, as: UTF8.self))
    }

    // The example of LCP 1.0 §5.4.1 has unsorted links and a signature over SHA-1: it proves nothing, and is not tested against.
    @Test func `defect 23: sorts the members of links as well, unlike the example of the specification`() throws {
        let text = #"{"links":[{"rel":"hint","href":"h","type":"t"}]}"#
        #expect(try form(text, .strict) == #"{"links":[{"href":"h","rel":"hint","type":"t"}]}"#)
    }
}
