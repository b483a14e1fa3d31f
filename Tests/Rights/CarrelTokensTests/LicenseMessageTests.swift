// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelJSON
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

struct `A license message` {
    static let now = TokenSamples.now
    static let key = communicationKey("11111111-2222-3333-4444-555555555555", (0..<32).map { UInt8($0) })
    private static let kid = "9eb4050d-e44b-4802-932e-27d75083e266"

    private static func communicationKey(_ id: String, _ secret: [UInt8]) -> LicenseMessage.CommunicationKey {
        guard let id = KeyID(uuid: id), let key = try? LicenseMessage.CommunicationKey(id: id, secret: Secret(secret)) else {
            preconditionFailure("the key has a UUID and 32 bytes")
        }
        return key
    }

    /// A message with everything that version 2 has.
    static var full: LicenseMessage {
        var keys = [
            LicenseMessage.ContentKey(
                id: KeyID(label: "a"),
                key: TokenSamples.contentKey,
                iv: (0..<16).map { UInt8($0) },
                policy: "HD"
            )
        ]
        keys.append(.init(id: KeyID(label: "b"), seedID: "seed"))
        var entitlement = LicenseMessage.Entitlement(keys: .inline(keys))
        entitlement.startsAt = now
        entitlement.expiresAt = now + .seconds(86_400)
        entitlement.duration = 7200
        entitlement.allowsPersistence = true
        entitlement.concurrencyInterval = 120
        entitlement.concurrencyGracePeriod = 10
        var system = LicenseMessage.SystemLicense()
        system.playbackDuration = 172_800
        system.realTimeExpiration = true
        system.customData = "data"
        entitlement.systems = [.fairplay: system, .widevine: .init()]
        var policy = LicenseMessage.UsagePolicy(name: "HD")
        var rules = LicenseMessage.SystemPolicy()
        rules.hdcp = "TYPE0"
        rules.allowsAirPlay = false
        rules.minDeviceSecurityLevel = 150
        rules.outputLevels = ["analog_video_opl": 100]
        rules.playEnablers = ["786627D8-C2A6-44BE-8F88-08AE255B01A7"]
        policy.systems = [.playready: rules]
        entitlement.policies = [policy]
        entitlement.access.preventsReuse = true
        entitlement.access.concurrencyLimit = 2
        entitlement.access.concurrencyMode = .evictOldest
        entitlement.access.addresses = ["192.0.2.1", "10.0.0.0/8", "2001:db8::1"].compactMap { AddressRange($0) }
        entitlement.returnsRequestInfo = true
        entitlement.session = ["order": "A-1001"]
        return LicenseMessage(
            communicationKeyID: key.id,
            id: "message-1",
            startsAt: now,
            expiresAt: now + .seconds(60),
            entitlement: entitlement
        )
    }

    private static func read(_ text: String, at time: Instant = now) throws(RightsError) -> LicenseMessage {
        try LicenseMessage.read(
            text,
            keys: [communicationKey("99999999-2222-3333-4444-000000000000", [UInt8](repeating: 1, count: 32)), key],
            at: time
        )
    }

    /// A message with a payload of this text, rightly signed.
    private static func sign(_ payload: String) -> String {
        let unsigned = TypedJWS.Unsigned(LicenseMessage.kind, payload: Array(payload.utf8))
        return unsigned.signed(HMACSHA256(key: key.secret).authenticate(unsigned.input.rawSpan))
    }

    @Test func `of the fixtures is read in both versions`() throws {
        let fixture = try TokenSamples.fixture("axinom/lsm-vectors-selfmade.json")
        #expect(fixture["communication_key_base64"]?.string == Base64.encode((0..<32).map { UInt8($0) }))
        let two = try Self.read(try #require(fixture["jwt_v2"]?.string))
        #expect(two.entitlement.version == .two && two.communicationKeyID == Self.key.id && two.id == nil)
        #expect(two.startsAt == Instant.parse("2024-01-01T00:00:00Z") && two.expiresAt == Instant.parse("2034-01-01T00:00:00Z"))
        #expect(two.entitlement.startsAt == two.startsAt && two.entitlement.expiresAt == two.expiresAt)
        #expect(two.entitlement.isStorable && two.entitlement.narrowestPlayDuration == 172_800 && two.entitlement.allowsPlayback)
        #expect(two.entitlement.concurrencyInterval == 300 && two.entitlement.concurrencyGracePeriod == 60)
        #expect(two.entitlement.policies.map(\.name) == ["SD", "HD"] && two.entitlement.policies.allSatisfy(\.unknown.isEmpty))
        #expect(two.entitlement.policies[0].systems[.fairplay]?.allowsAirPlay == false)
        #expect(two.entitlement.policies[1].systems[.widevine]?.deviceSecurityLevel == "HW_SECURE_ALL")
        #expect(two.entitlement.session == ["order": "A-1001"])
        let one = try Self.read(try #require(fixture["jwt_v1"]?.string))
        #expect(one.entitlement.version == .one && one.entitlement.isStorable && one.entitlement.policies.isEmpty)
        guard case .inline(let listed) = two.entitlement.keys, case .inline(let first) = one.entitlement.keys else {
            Issue.record("the keys are not inline")
            return
        }
        let known = try #require(fixture["keys"]?.array)
        #expect(listed.map(\.id.uuid) == known.map { $0["kid"]?.string } && listed.map(\.policy) == ["SD", "HD"])
        #expect(listed.map(\.key) == known.map { Secret(Hex.decode($0["key_hex"]?.string ?? "") ?? []) })
        #expect(first.map(\.key) == [listed[0].key])
        for message in [one, two] { #expect(try Self.read(message.write(under: Self.key)) == message) }
    }

    @Test func `of the fixtures that must be refused is refused`() throws {
        let codes: [String: ErrorCode<RightsError>] = [
            "signature altered": .signature, "alg none": .signature, "expired envelope": .expired, "not yet valid": .expired,
            "unknown com_key_id": .token, "two key sources": .malformed, "usage policy name not defined": .malformed,
        ]
        let fixture = try TokenSamples.fixture("axinom/lsm-vectors-selfmade.json")
        let cases = try #require(fixture["must_reject"]?.array)
        #expect(cases.count == 7)
        for sample in cases {
            let why = try #require(sample["why"]?.string)
            let text = try #require(sample["jwt"]?.string)
            let error = try #require(throws: RightsError.self) { try Self.read(text) }
            #expect(error.code == codes[why], "\(why)")
        }
    }

    @Test func `published by Axinom has this form, though its key is not public`() throws {
        let texts = try ["Streams.json", "samplelist.json"].flatMap { name in
            (try TokenSamples.fixture("axinom/\(name)").array ?? []).compactMap { $0["licenseToken"]?.string }.filter {
                !$0.isEmpty
            }
        }
        #expect(texts.count > 4)
        for text in texts {
            #expect(throws: RightsError(.token)) { try Self.read(text) }
            // the same payload under a key that is known
            let payload = try #require(Base64URL.decode(text.split(separator: ".")[1]))
            let json = TokenSamples.text(payload).replacing("69e54088-e9e0-4530-8c1a-1eb6dcd0d14e", with: Self.key.id.uuid)
            let message = try Self.read(Self.sign(json))
            #expect(message.entitlement.allowsPersistence && message.entitlement.policies.count == 1)
        }
    }

    @Test func `is written and read again`() throws {
        let text = try Self.full.write(under: Self.key)
        #expect(try Self.read(text) == Self.full)
        #expect(!Self.full.entitlement.policies.isEmpty && !text.contains("166634"))
        var message = Self.full
        message.entitlement.policies = []
        for source in [
            LicenseMessage.KeySource.stored([.init(id: KeyID(label: "a"))]), .licenseRequest(seedID: "seed", policy: nil),
            .licenseRequest(seedID: nil, policy: nil), .inline([.init(id: KeyID(label: "a"))]),
        ] {
            message.entitlement.keys = source
            #expect(try Self.read(message.write(under: Self.key)) == message)
        }
    }

    @Test func `of version 1 has what version 1 has`() throws {
        var entitlement = LicenseMessage.Entitlement(.one, keys: .licenseRequest(seedID: nil, policy: nil))
        entitlement.playDuration = 3600
        entitlement.returnsRequestInfo = true
        entitlement.access.addresses = ["2001:db8::1"].compactMap { AddressRange($0) }
        var message = LicenseMessage(communicationKeyID: Self.key.id, entitlement: entitlement)
        #expect(try Self.read(message.write(under: Self.key)) == message)
        #expect(entitlement.narrowestPlayDuration == 3600 && entitlement.narrowestDuration == nil)
        let changes: [(inout LicenseMessage.Entitlement) -> Void] = [
            { $0.duration = 1 }, { $0.access.preventsReuse = true }, { $0.keys = .stored([.init(id: KeyID(label: "a"))]) },
            { $0.keys = .licenseRequest(seedID: "a", policy: nil) }, { $0.session = 1 }, { $0.concurrencyInterval = 1 },
            { $0.access.addresses = ["10.0.0.0/8"].compactMap { AddressRange($0) } },
        ]
        for change in changes {
            message.entitlement = entitlement
            change(&message.entitlement)
            #expect(throws: RightsError(.malformed)) { try message.write(under: Self.key) }
        }
    }

    /// Messages that a writer must refuse.
    private static let changes: [@Sendable (inout LicenseMessage) -> Void] = [
        { $0.communicationKeyID = KeyID(label: "a") }, { $0.id = "" }, { $0.expiresAt = $0.startsAt },
        { $0.entitlement.playDuration = 1 },
        { $0.entitlement.duration = -1 }, { $0.entitlement.access.concurrencyLimit = .max }, { $0.entitlement.policies = [] },
        { $0.entitlement.policies.append($0.entitlement.policies[0]) }, { $0.entitlement.keys = .inline([]) },
        { $0.entitlement.keys = .inline([.init(id: KeyID(label: "a")), .init(id: KeyID(label: "a"))]) },
        { $0.entitlement.keys = .inline([.init(id: KeyID(label: "a"), key: Secret([1]))]) },
        { $0.entitlement.keys = .inline([.init(id: KeyID(label: "a"), iv: [1])]) },
        { $0.entitlement.keys = .stored([.init(id: KeyID(label: "a"), key: TokenSamples.contentKey)]) },
        { $0.entitlement.keys = .licenseRequest(seedID: nil, policy: "SD") }, { $0.entitlement.access.unknown = ["a"] },
        { $0.entitlement.policies[0].unknown = ["a"] }, { $0.entitlement.unknown = ["a"] },
        { $0.entitlement.session = .string(String(repeating: "a", count: 16_384)) },
    ]

    @Test(arguments: changes.indices)
    func `with a fault is not written`(index: Int) {
        var message = Self.full
        Self.changes[index](&message)
        #expect(throws: RightsError(.malformed)) { try message.write(under: Self.key) }
    }

    @Test func `is taken in its time alone`() throws {
        let text = try Self.full.write(under: Self.key)
        #expect(throws: RightsError(.expired)) { try Self.read(text, at: Self.now.advanced(byMilliseconds: -1)) }
        #expect(throws: Never.self) { try Self.read(text, at: Self.now + .milliseconds(59_999)) }
        #expect(throws: RightsError(.expired)) { try Self.read(text, at: Self.now + .seconds(60)) }
    }

    private static let inline = #""content_keys_source":{"inline":[{"id":"\#(kid)"}]}"#

    private static func payload(_ message: String, head: String = #""version":1,"com_key_id":"\#(key.id.uuid)""#) -> String {
        #"{\#(head),"message":{\#(message)}}"#
    }

    private static func two(_ rest: String) -> String { payload(#""type":"entitlement_message","version":2,\#(rest)"#) }

    @Test func `names the members that it has beyond those that are known`() throws {
        let message = try Self.read(
            Self.sign(
                Self.two(
                    Self.inline + #","license":{"allow_everything":true,"duration":5,"fairplay":{"x":1}},"new":[{}],"#
                        + #""license_server":{"x":1,"access_control":{"allowed_device_ids":["a"],"prevent_drm_message_reuse":true}},"#
                        + #""content_key_usage_policies":[{"name":"a","widevine":{"hdcp":"1","resolution":3},"other":{}}]"#
                )
            )
        )
        #expect(!message.entitlement.isStorable && message.entitlement.duration == 5 && message.entitlement.access.preventsReuse)
        #expect(message.entitlement.access.unknown == ["allowed_device_ids"])
        #expect(
            message.entitlement.unknown == ["license.allow_everything", "license.fairplay.x", "new", "license_server.x"]
        )
        #expect(message.entitlement.policies.map(\.unknown) == [["other", "widevine.resolution"]])
        #expect(throws: RightsError(.malformed)) { try message.write(under: Self.key) }
    }

    @Test func `keeps to the narrowest rule of any system`() throws {
        let message = try Self.read(
            Self.sign(
                Self.two(
                    Self.inline
                        + #","license":{"allow_persistence":true,"duration":50,"fairplay":{"playback_duration":9,"duration":40},"#
                        + #""widevine":{"playback_duration":7,"allow_playback":false},"playready":{"allow_persistence":false}}"#
                )
            )
        )
        #expect(message.entitlement.narrowestPlayDuration == 7 && message.entitlement.narrowestDuration == 40)
        #expect(!message.entitlement.isStorable && !message.entitlement.allowsPlayback)
    }

    @Test func `allows the addresses that it names`() throws {
        let access = Self.full.entitlement.access
        for (text, isAllowed) in [
            ("192.0.2.1", true), ("192.0.2.2", false), ("10.9.8.7", true), ("2001:db8::1", true), ("::1", false),
        ] {
            #expect(access.allows(try #require(IPAddress(text))) == isAllowed)
        }
        #expect(LicenseMessage.AccessControl().allows(try #require(IPAddress("::1"))))
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"version":1}"#, payload(""), payload(#""type":"entitlement_message","version":3,"# + inline),
        payload(#""type":"other","version":2,"# + inline), two(#""license":{}"#), two(#""content_keys_source":{}"#),
        two(#""content_keys_source":{"inline":[]}"#), two(#""content_keys_source":{"other":[]}"#),
        two(#""content_keys_source":{"inline":[{"id":"\#(kid)"}],"other":1}"#),
        two(#""content_keys_source":{"inline":[{"id":"a"}]}"#),
        two(#""content_keys_source":{"inline":[{}]}"#),
        two(#""content_keys_source":{"inline":[{"id":"\#(kid)"},{"id":"\#(kid)"}]}"#),
        two(#""content_keys_source":{"inline":[{"id":"\#(kid)","encrypted_key":"AA=="}]}"#),
        two(#""content_keys_source":{"inline":[{"id":"\#(kid)","iv":"JVDirG2Y5aaHTySw8MDkJB=="}]}"#),
        two(#""content_keys_source":{"stored":[{"id":"\#(kid)","encrypted_key":"JVDirG2Y5aaHTySw8MDkJA=="}]}"#),
        two(inline + #","license":[]"#), two(inline + #","license":{"duration":"5"}"#),
        two(inline + #","license":{"duration":-5}"#),
        two(inline + #","license":{"duration":1.5}"#), two(inline + #","license":{"duration":1e300}"#),
        two(inline + #","license":{"allow_persistence":1}"#), two(inline + #","license":{"start_datetime":"today"}"#),
        two(inline + #","license_server":{"access_control":{"concurrency_mode":"OTHER"}}"#),
        two(inline + #","license_server":{"access_control":{"allowed_ip_addresses":[]}}"#),
        two(inline + #","license_server":{"access_control":{"allowed_ip_addresses":["a"]}}"#),
        two(inline + #","license_server":{"access_control":{"allowed_ip_addresses":["10.0.0.0/8",1]}}"#),
        two(inline + #","content_key_usage_policies":[{}]"#),
        two(inline + #","content_key_usage_policies":[{"name":"a"},{"name":"a"}]"#),
        two(inline + #","content_key_usage_policies":{}"#), two(inline + #","license":{},"license":{}"#),
        two(inline + #","session":\#(String(repeating: "[", count: 20))\#(String(repeating: "]", count: 20))"#),
        payload(#""type":"entitlement_message","version":1,"keys":[]"#), payload(#""type":"entitlement_message","version":1"#),
        payload(#""type":"entitlement_message","version":1,"keys":[{"id":"\#(kid)"}],"keys_based_on_request":true"#),
        payload(#""type":"entitlement_message","version":1,"keys":[{"id":"\#(kid)"}],"client_ip":"a""#),
        payload(#""type":"entitlement_message","version":2,"# + inline, head: #""version":2,"com_key_id":"\#(key.id.uuid)""#),
        payload(#""type":"entitlement_message","version":2,"# + inline, head: #""version":1,"com_key_id":1"#),
        payload(
            #""type":"entitlement_message","version":2,"# + inline,
            head:
                #""version":1,"begin_date":"2034-01-01T00:00:00Z","expiration_date":"2024-01-01T00:00:00Z","com_key_id":"\#(key.id.uuid)""#
        ),
    ])
    func `with a malformed payload under a right signature is refused`(payload: String) throws {
        let error = try #require(throws: RightsError.self) { try Self.read(Self.sign(payload)) }
        // without the name of a key there is none to check it with
        #expect(error.code == .malformed || (error.code == .token && !payload.contains("com_key_id")), "\(payload)")
    }

    @Test func `is an HS256 token of the type JWT, of at most 16 KiB`() throws {
        #expect(throws: Never.self) { try Self.read(Self.sign(Self.two(Self.inline))) }
        let payload = Array(Self.two(Self.inline).utf8)
        for header in [
            #"{"alg":"HS256"}"#, #"{"alg":"HS256","typ":"jwt"}"#, #"{"alg":"HS512","typ":"JWT"}"#,
            #"{"alg":"ES256","typ":"JWT","kid":"a"}"#,
            #"{"alg":"HS256","typ":"JWT","jwk":{"kty":"oct","k":"AA"}}"#, #"{"alg":"HS256","typ":"JWT","crit":[]}"#,
        ] {
            let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
            let bytes = Array(input.utf8)
            let text = input + "." + Base64URL.encode(HMACSHA256(key: Self.key.secret).authenticate(bytes.rawSpan))
            #expect(throws: RightsError(.signature)) { try Self.read(text) }
        }
        #expect(throws: RightsError(.malformed)) { try Self.read(String(repeating: "a", count: 16_385)) }
        #expect(throws: RightsError(.malformed)) { try Self.read("a.b") }
        #expect(throws: RightsError(.malformed)) {
            try LicenseMessage.CommunicationKey(id: Self.key.id, secret: Secret([1]))
        }
    }
}
