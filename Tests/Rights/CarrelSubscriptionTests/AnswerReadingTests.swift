// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSubscription
import CarrelXML
import Testing

struct `Reading answers` {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: [
        ("<token>T</token>", SignInAnswer.token("T")),
        ("<token global_auth_password=\"G\">T</token>", .token("T", globalAuthPassword: "G")),
        ("\r\n <?xml version=\"1.0\"?><!-- x --><token>\n  T&amp;\n</token><!-- y -->", .token("T&")),
        ("<token xmlns=\"urn:x\"><![CDATA[{\"a\": [1]}]]></token>", .token("{\"a\": [1]}")),
        ("<result_response><authToken>T</authToken><other/></result_response>", .token("T")),
        ("<result_response><error status=\"x\"/></result_response>", .refused(status: "x", message: nil)),
        ("<error status=\"notrecognised\" message=\"No\"/>", .refused(status: "notrecognised", message: "No")),
        ("<error status=\"NOT_RECOGNIZED\"/>", .refused(status: "notrecognised", message: nil)),
        ("<error message=\"No\"/>", .refused(status: nil, message: "No")),
        ("<error>Not you</error>", .refused(status: nil, message: "Not you")),
        ("<error status=\"\"/>", .refused(status: nil, message: nil)),
        ("<error status=\"Blocked\"/>", .refused(status: "Blocked", message: nil)),
    ])
    func `takes what servers say to signing in`(text: String, answer: SignInAnswer) throws {
        #expect(try SignInAnswer.parse(Self.bytes(text)) == answer)
    }

    @Test(arguments: [
        ("<subscription state=\"active\"/>", SubscriptionAnswer(.active)),
        ("<subscription state=\"active\"><issues/></subscription>", .init(.active, issues: [])),
        (
            "<subscription state=\"inactive\" message=\"m\"><issues>\n<issue> a </issue><issue>b</issue><issue/>\n</issues></subscription>",
            .init(.inactive, message: "m", issues: ["a", "b"])
        ),
        ("<subscription state=\"active\"><issue>a</issue></subscription>", .init(.active, issues: ["a"])),
        ("<subscription state=\"active\"><issues><other>a</other></issues></subscription>", .init(.active, issues: [])),
        ("<subscription state=\"active\"><issues><x><issue>a</issue></x></issues></subscription>", .init(.active, issues: [])),
        ("<subscription state=\" Active \"/>", .init(.active)), ("<subscription state=\"platinum\"/>", .init(.unknown)),
        ("<subscription/>", .init(.unknown)), ("<error status=\"x\" message=\"m\"/>", .init(.unknown, message: "m")),
        (
            """
            <subscription state="stale"><userinfo><category scheme="a" term="1"/><category scheme="b" value="2"/>
            <category scheme="c" term="3" value="4"/><category term="5"/></userinfo><category scheme="d"/><more/></subscription>
            """,
            .init(
                .stale,
                categories: [
                    .init(scheme: "a", term: "1"), .init(scheme: "b", term: "2"), .init(scheme: "c", term: "3"),
                    .init(scheme: "d", term: ""),
                ]
            )
        ),
    ])
    func `takes what servers say about a subscription`(text: String, answer: SubscriptionAnswer) throws {
        #expect(try SubscriptionAnswer.parse(Self.bytes(text)) == answer)
    }

    @Test(arguments: [
        (
            "<credentials><userid>U</userid><password>P</password></credentials>",
            CredentialsAnswer.granted(userID: "U", password: "P")
        ),
        (
            """
            <credentials><subscription state="active"/><productid>p</productid><userid>U</userid><password/>
            <header name="X-Edge">V</header><header>nameless</header></credentials>
            """,
            .granted(userID: "U", password: "", headers: [.init(name: "X-Edge", value: "V")])
        ),
        ("<credentials><error status=\"expired\" message=\"m\"/></credentials>", .refused(status: "expired", message: "m")),
        ("<credentials><error message=\"m\"/></credentials>", .refused(status: nil, message: "m")),
        ("<error status=\"NOT_ENTITLED\"/>", .refused(status: "notentitled", message: nil)),
        (
            "<credentials><userid>U</userid><password>P</password><error status=\"Not-Entitled\"/></credentials>",
            .refused(status: "notentitled", message: nil)
        ),
    ])
    func `takes what servers say to a request for credentials`(text: String, answer: CredentialsAnswer) throws {
        #expect(try CredentialsAnswer.parse(Self.bytes(text)) == answer)
    }

    @Test(arguments: [
        "", "<html>{garbage]", "<html><body>Service unavailable</body></html>", "{\"state\": \"active\"}", "<token/>",
        "<token>  </token>", "<result_response/>", "<a><token>T</token></a>", "<a><subscription state='active'/></a>",
        "<credentials/>", "<credentials><userid>U</userid></credentials>",
        "<credentials><userid/><password>P</password></credentials>",
        "<!DOCTYPE token [<!ENTITY x 'y'>]><token>&x;</token>", "<token>T", "<subscription state='active'>",
    ])
    func `is refused where there is no answer`(text: String) {
        #expect(throws: Malformed.self) { try SignInAnswer.parse(Self.bytes(text)) }
        #expect(throws: Malformed.self) { try SubscriptionAnswer.parse(Self.bytes(text)) }
        #expect(throws: Malformed.self) { try CredentialsAnswer.parse(Self.bytes(text)) }
    }

    @Test(arguments: ["ISO-8859-1", "windows-1252", "Latin1"])
    func `understands the encodings of old servers`(name: String) throws {
        let head = Self.bytes("<?xml version=\"1.0\" encoding='\(name)'?><error message=\"")
        let answer = try SignInAnswer.parse(head + [0xe9, 0x80, 0x96, 0xff] + Self.bytes("\"/>"))
        #expect(answer == .refused(status: nil, message: "é€–ÿ"))
        #expect(throws: Malformed.self) { try SignInAnswer.parse(Self.bytes("<error message=\"") + [0xe9] + Self.bytes("\"/>")) }
    }

    @Test func `gives back what was written, whatever it was`() throws {
        var generator = SystemRandomNumberGenerator()
        let alphabet: [Unicode.Scalar] = [
            "<", "&", "\"", "'", ">", "]", "-", "\t", "\n", "\r", "é", "\u{202e}", "😀", "a", "%", " ",
        ]
        func text() -> String {
            let count = Int.random(in: 0...20, using: &generator)
            return String(String.UnicodeScalarView((0..<count).map { _ in alphabet.randomElement(using: &generator) ?? "a" }))
        }
        /// An id or a token, which has no white space around it.
        func word() -> String { "x" + text() + "x" }
        for _ in 0..<2_000 {
            let signIn = SignInAnswer.token(word(), globalAuthPassword: Bool.random(using: &generator) ? text() : nil)
            #expect(try SignInAnswer.parse(signIn.write()) == signIn)
            let refusal = SignInAnswer.refused(status: word(), message: text())
            #expect(try SignInAnswer.parse(refusal.write()) == refusal)
            let categories = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                SubscriptionAnswer.Category(scheme: text(), term: text())
            }
            let state = SubscriptionAnswer.State.allCases.randomElement(using: &generator) ?? .active
            let issues = Bool.random(using: &generator) ? (0..<Int.random(in: 0...5, using: &generator)).map { _ in word() } : nil
            let answer = SubscriptionAnswer(state, message: text(), categories: categories, issues: issues)
            #expect(try SubscriptionAnswer.parse(answer.write()) == answer)
            #expect(try SubscriptionAnswer.parse(answer.write(alsoValue: true)) == answer)
            let headers = [CredentialsAnswer.Header(name: text(), value: word())]
            let credentials = CredentialsAnswer.granted(userID: word(), password: word(), headers: headers)
            #expect(try CredentialsAnswer.parse(credentials.write()) == credentials)
        }
    }

    @Test func `takes fifty thousand issues, and no more than the limit of bytes`() throws {
        let answer = SubscriptionAnswer(.active, issues: (0..<50_000).map { "com.example.edition\($0)" })
        #expect(try SubscriptionAnswer.parse(answer.write()) == answer)
        let long = SubscriptionAnswer(.active, message: String(repeating: "x", count: 9 << 20))
        #expect(throws: Malformed.self) { try SubscriptionAnswer.parse(long.write()) }
    }
}
