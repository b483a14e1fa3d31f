// SPDX-License-Identifier: Apache-2.0

import CarrelSubscription
import CarrelTesting
import Testing

struct `The answers to apps` {
    private func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().joined(separator: "\n")
    }

    @Test func `have the field's elements and attributes`() {
        #expect(text(SignInAnswer.token("T").write()) == "<token>T</token>")
        #expect(
            text(SignInAnswer.token("T", globalAuthPassword: "G").write()) == "<token global_auth_password=\"G\">T</token>"
        )
        #expect(
            text(SignInAnswer.refused(status: "notrecognised", message: "No").write())
                == "<error status=\"notrecognised\" message=\"No\"/>"
        )
        let header = CredentialsAnswer.Header(name: "X-Edge-Token", value: "V")
        #expect(
            text(CredentialsAnswer.granted(userID: "U", password: "P", headers: [header]).write())
                == "<credentials><userid>U</userid><password>P</password><header name=\"X-Edge-Token\">V</header></credentials>"
        )
        #expect(
            text(CredentialsAnswer.refused(status: nil, message: "M").write())
                == "<credentials><error message=\"M\"/></credentials>"
        )
    }

    @Test func `tell no issues, no list, and a list apart`() {
        var answer = SubscriptionAnswer(.active, message: "Gold", categories: [.init(scheme: "name", term: "Harry Smith")])
        let head =
            "<subscription state=\"active\" message=\"Gold\"><userinfo><category scheme=\"name\" term=\"Harry Smith\"/></userinfo>"
        #expect(text(answer.write()) == head + "</subscription>")
        answer.issues = []
        #expect(text(answer.write()) == head + "<issues/></subscription>")
        answer.issues = ["a", "b"]
        #expect(text(answer.write()) == head + "<issues><issue>a</issue><issue>b</issue></issues></subscription>")
        #expect(text(answer.write(alsoValue: true)).contains("term=\"Harry Smith\" value=\"Harry Smith\"/>"))
        #expect(text(SubscriptionAnswer(.stale).write()) == "<subscription state=\"stale\"/>")
    }

    @Test func `stay well-formed with any untrusted text`() async throws {
        var generator = SystemRandomNumberGenerator()
        let alphabet: [Unicode.Scalar] = [
            "<", "&", "\"", "'", ">", "]", "-", "\0", "\u{1}", "\u{b}", "\t", "\n", "\r", "é", "\u{202e}", "😀", "\u{fffe}",
            "\u{ffff}", "a", "%", ":", "/", " ",
        ]
        func hostile() -> String {
            let count = Int.random(in: 0...20, using: &generator)
            return String(String.UnicodeScalarView((0..<count).map { _ in alphabet.randomElement(using: &generator) ?? "a" }))
        }
        let directory = TemporaryDirectory()
        for batch in 0..<20 {
            var document: [UInt8] = Array("<all>".utf8)
            for _ in 0..<125 {
                let answers = [
                    SignInAnswer.token(hostile(), globalAuthPassword: hostile()).write(),
                    SignInAnswer.refused(status: hostile(), message: hostile()).write(),
                    CredentialsAnswer.refused(status: hostile(), message: hostile()).write(),
                    SubscriptionAnswer(
                        .active,
                        message: hostile(),
                        categories: [.init(scheme: hostile(), term: hostile())],
                        issues: [hostile()]
                    ).write(),
                ]
                // one document of many, so that the checker starts once
                for answer in answers { document += answer.drop { $0 != UInt8(ascii: "\n") } }
            }
            let path = directory.write("\(batch).xml", document + Array("</all>".utf8))
            let check = try await runProcess(["xmllint", "--noout", path])
            #expect(check.status == .exited(0), "\(check.errorText.prefix(500))")
        }
    }
}
