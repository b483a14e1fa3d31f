// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelJSON
import CarrelRights
import CarrelTesting
import Glibc
import Testing

/// Packagers of other vendors, the commands, and a server between them.
struct `Keys of packagers` {
    private let directory = TemporaryDirectory()
    private static let kids = ["6e616d65-0000-4000-8000-000000000001", "6e616d65-0000-4000-8000-000000000002"]

    /// A film of four seconds with sound.
    private func film() async throws -> String {
        let path = directory.file("film.mp4")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=4", "-f", "lavfi", "-i",
            "sine=frequency=440:duration=4", "-c:v", "libx264", "-g", "50", "-sc_threshold", "0", "-c:a", "aac", path,
        ])
        return path
    }

    /// The digest of each frame of a track.
    private func frames(_ path: String, _ kind: String) async throws -> [String] {
        let text = try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", path, "-map", "0:\(kind)", "-f", "framemd5", "-",
        ])
        return Self.digests(text)
    }

    /// The digests in the output of the format `framemd5`.
    private static func digests(_ text: String) -> [String] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
            $0.split(separator: ",").last.map { String($0.filter { $0 != " " }) }
        }
    }

    private func carrel(_ words: [String], input: String = "", home: Bool = true) async throws -> String {
        let place = home ? ["--home", directory.file("home")] : []
        return try await checkProcess(
            [try CarrelProgram.path()] + words + place,
            input: Array(input.utf8),
            timeout: .seconds(120)
        )
    }

    private func json(_ text: String) throws -> JSON {
        let bytes = Array(text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    /// A home with a server, and the URL that a packager calls with its key.
    private func serve() async throws -> (server: BackgroundProcess, url: String, credentials: String) {
        _ = try await carrel(["init"])
        let key = try json(try await carrel(["key", "create", "--role", "packager", "--json"]))
        let server = try BackgroundProcess([
            try CarrelProgram.path(), "serve", "--home", directory.file("home"), "--port", "0",
        ])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = try #require(line.split(separator: " ").last.map(String.init))
        return (server, url, "\(key["id"]?.string ?? ""):\(key["key"]?.string ?? "")")
    }

    private static func request(_ content: String) -> String {
        let systems = kids.map {
            """
            <DRMSystem kid="\($0)" systemId="1077efec-c0b2-4d02-ace3-3c1e52e2fb4b"><PSSH/></DRMSystem>
            """
        }
        return """
            <CPIX xmlns="urn:dashif:org:cpix" contentId="\(content)" version="2.3"><ContentKeyList><ContentKey kid="\(kids[0])" \
            commonEncryptionScheme="cenc"/><ContentKey kid="\(kids[1])" commonEncryptionScheme="cenc"/></ContentKeyList><DRMSystemList>\
            \(systems.joined())</DRMSystemList><ContentKeyUsageRuleList><ContentKeyUsageRule kid="\(kids[0])" intendedTrackType="VIDEO">\
            <VideoFilter/></ContentKeyUsageRule><ContentKeyUsageRule kid="\(kids[1])" intendedTrackType="AUDIO"><AudioFilter/>\
            </ContentKeyUsageRule></ContentKeyUsageRuleList></CPIX>
            """
    }

    /// Requests keys as an encoder does, and keeps the document.
    private func exchange(_ url: String, _ credentials: String, content: String, as name: String) async throws -> CPIXDocument {
        let request = directory.write("request.xml", Self.request(content))
        let status = try await checkProcess([
            try requirePeer("curl"), "-s", "-u", credentials, "-H", "X-Speke-Version: 2.0", "-H", "Content-Type: application/xml",
            "--data-binary", "@\(request)", "-o", directory.file(name), "-w", "%{http_code}", "\(url)/speke/v2/copyProtection",
        ])
        try #require(status == "200")
        let bytes = try #require(directory.read(name))
        return try CPIXDocument(reading: bytes.rawSpan)
    }

    /// Runs a command of a device, which has a folder and a vault of its own.
    private func runOnDevice(_ words: [String]) async throws -> String {
        try await checkProcess(
            [try CarrelProgram.path()] + words + ["--home", directory.file("reader")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL_VAULT_PASSPHRASE": "correct horse battery"],
            timeout: .seconds(120)
        )
    }

    /// Stores a license on the device, for which a portal names the ids of keys that the server has.
    private func storeLicense(_ url: String, _ keys: [KeyID]) async throws {
        let portal = try json(try await carrel(["key", "create", "--role", "portal", "--json"]))
        var fields = [
            "customerAuthenticator=\(portal["id"]?.string ?? ""),\(portal["key"]?.string ?? "")", "actionTokenType=1",
            "rightsType=BuyToOwn", "userId=reader-1", "userKey=00112233445566778899aabbccddeeff",
            "outputControlOverride=urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0",
        ]
        for (number, key) in keys.enumerated() { fields += ["contentId.\(number)=cid:film", "kid.\(number)=\(key.hex)"] }
        let form = fields.flatMap { ["--data-urlencode", $0] }
        let text = try await checkProcess([try requirePeer("curl"), "-sS"] + form + ["\(url)/hms/bb/token"])
        try #require(text.contains("<LicenseAcquisition"), "\(text)")
        let token = directory.write("token.xml", text)
        _ = try await runOnDevice(["device", "personalize", "--server", url, "--vault", "file"])
        let redeemed = try json(try await runOnDevice(["token", "redeem", token, "--json"]))
        #expect(redeemed["content"] == "cid:film" && redeemed["until"] == .null)
    }

    private func hex(_ secret: Secret?) -> String { secret?.withBytes { Hex.encode([UInt8](copying: $0)) } ?? "" }

    @Test func `for all tracks encrypt each track, and a document whose rules fit none packages nothing`() async throws {
        let film = try await film()
        func document(_ filters: String, _ type: String) -> String {
            """
            <CPIX xmlns="urn:dashif:org:cpix" xmlns:pskc="urn:ietf:params:xml:ns:keyprov:pskc" contentId="c" version="2.3"><ContentKeyList>\
            <ContentKey kid="\(Self.kids[0])" commonEncryptionScheme="cenc"><Data><pskc:Secret><pskc:PlainValue>AAECAwQFBgcICQoLDA0ODw==\
            </pskc:PlainValue></pskc:Secret></Data></ContentKey></ContentKeyList><ContentKeyUsageRuleList><ContentKeyUsageRule \
            kid="\(Self.kids[0])" intendedTrackType="\(type)">\(filters)</ContentKeyUsageRule></ContentKeyUsageRuleList></CPIX>
            """
        }
        let (keys, out) = (directory.file("keys.xml"), directory.file("out"))
        directory.write("keys.xml", document("<VideoFilter/><AudioFilter/>", "ALL"))
        let made = try await carrel(["package", film, "-o", out, "--scheme", "cenc", "--cpix", keys, "--json"], home: false)
        #expect(try json(made)["warnings"]?.array ?? [] == [])
        for name in ["video-1", "audio-1"] {
            let list = try #require(directory.read("out/\(name).m3u8"))
            #expect(String(decoding: list, as: UTF8.self).contains("#EXT-X-KEY"), "\(name)")
        }
        directory.write("keys.xml", document("<VideoFilter minPixels=\"8000000\"/>", "UHD"))
        let none = directory.file("none")
        let refused = try await runProcess(
            [try CarrelProgram.path(), "package", film, "-o", none, "--scheme", "cenc", "--cpix", keys]
        )
        #expect(!refused.status.isSuccess && refused.errorText.contains("no usage rule names a key"), "\(refused.errorText)")
        #expect(unsafe access(none, F_OK) != 0)
    }

    @Test func `encrypt media in Shaka Packager, which play here`() async throws {
        let packager = try StreamingPeer.packager.path()
        let film = try await film()
        let (server, url, credentials) = try await serve()
        let document = try await exchange(url, credentials, content: "film", as: "keys.xml")
        // an encoder that asks again gets the same keys
        #expect(
            try await exchange(url, credentials, content: "film", as: "again.xml").keys.map { $0.secret }
                == document.keys.map { $0.secret }
        )
        let keys = zip(["VIDEO", "AUDIO"], document.keys).map { "label=\($0):key_id=\($1.id.hex):key=\(hex($1.secret))" }
        func streams(_ suffix: String) -> [String] {
            zip(["video", "audio"], ["VIDEO", "AUDIO"]).map {
                "in=\(film),stream=\($0),output=\(directory.file("\($0)\(suffix).mp4")),drm_label=\($1)"
            }
        }
        let manifest = directory.file("film.mpd")
        let options = [
            "--enable_raw_key_encryption", "--clear_lead", "0", "--protection_scheme", "cenc", "--mpd_output", manifest, "--keys",
        ]
        try await checkProcess([packager] + streams("") + options + [keys.joined(separator: ",")])
        // the same files without encryption: the packager changes the edit list of audio
        try await checkProcess([packager] + streams("-plain"))
        for (name, kind) in [("video", "v"), ("audio", "a")] {
            let clear = directory.file("\(name)-clear.mp4")
            let words = ["decrypt", directory.file("\(name).mp4"), "--cpix", directory.file("keys.xml"), "-o", clear]
            _ = try await carrel(words, home: false)
            let expected = try await frames(directory.file("\(name)-plain.mp4"), kind)
            #expect(try await frames(clear, kind) == expected && !expected.isEmpty)
        }
        try await storeLicense(url, document.keys.map(\.id))
        server.signal(SIGTERM)
        #expect(try await server.waitForExit() == .exited(0))
        // the device plays with its license alone: without the document, and without the server
        let played = directory.file("played")
        let player = directory.write(
            "player",
            "#!/bin/sh\nexec ffmpeg -y -v error -nostdin -i \"$1\" -map 0:v -f framemd5 '\(played)'\n"
        )
        try await checkProcess(["chmod", "+x", player])
        _ = try await runOnDevice(["proxy", manifest, "--play", "--player", player])
        let expected = try await frames(directory.file("video-plain.mp4"), "v")
        let shown = Self.digests(String(decoding: directory.read("played") ?? [], as: UTF8.self))
        #expect(shown == expected && expected.count == 100)
        let licenses = try json(try await runOnDevice(["license", "list", "--json"]))["licenses"]?.array ?? []
        #expect(licenses.map { $0["plays"]?.int } == [1])
    }

    @Test func `encrypt HLS with AES-128, under the address that SPEKE 1 returns`() async throws {
        let film = try await film()
        let (server, url, credentials) = try await serve()
        let request = directory.write(
            "request.xml",
            """
            <CPIX xmlns="urn:dashif:org:cpix" id="live"><ContentKeyList><ContentKey kid="\(Self.kids[0])"/></ContentKeyList><DRMSystemList>\
            <DRMSystem kid="\(Self.kids[0])" systemId="81376844-f976-481e-a84e-cc25d39b0b33"><URIExtXKey/></DRMSystem></DRMSystemList></CPIX>
            """
        )
        let response = try await checkProcess([
            try requirePeer("curl"), "-s", "-u", credentials, "-H", "Content-Type: application/xml", "--data-binary",
            "@\(request)",
            "\(url)/speke/v1/copyProtection",
        ])
        server.signal(SIGTERM)
        let bytes = Array(response.utf8)
        directory.write("keys.xml", bytes)
        let document = try CPIXDocument(reading: bytes.rawSpan)
        let key = try #require(document.keys[0].secret)
        let address = String(decoding: try #require(document.systems[0].keyURI), as: UTF8.self)
        let keyFile = directory.write("key.bin", key.withBytes { [UInt8](copying: $0) })
        let info = directory.write("info", "\(address)\n\(keyFile)\n")
        let playlist = directory.file("film.m3u8")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", film, "-map", "0:v", "-c", "copy", "-f", "hls", "-hls_time", "2",
            "-hls_playlist_type", "vod", "-hls_key_info_file", info, playlist,
        ])
        let clear = directory.file("clear.ts")
        _ = try await carrel(["decrypt", playlist, "--cpix", directory.file("keys.xml"), "-o", clear], home: false)
        #expect(try await frames(clear, "v") == frames(film, "v"))
    }

    @Test func `encrypt each track by the rules of their document`() async throws {
        let film = try await film()
        let (server, url, credentials) = try await serve()
        let document = try await exchange(url, credentials, content: "film", as: "keys.xml")
        server.signal(SIGTERM)
        let folder = directory.file("package")
        let words = ["package", film, "-o", folder, "--cpix", directory.file("keys.xml"), "--single-file"]
        let report = try json(try await carrel(words + ["--scheme", "cenc", "--json"], home: false))
        let tracks = report["tracks"]?.array ?? []
        #expect(tracks.compactMap { $0["keyIds"]?.array?.first?.string } == document.keys.map(\.id.hex))
        let clear = directory.file("clear.mp4")
        _ = try await carrel(
            ["decrypt", "\(folder)/manifest.mpd", "--cpix", directory.file("keys.xml"), "-o", clear],
            home: false
        )
        #expect(try await frames(clear, "v") == frames(film, "v"))
        // the document is for cenc
        let other = try await runProcess([try CarrelProgram.path()] + words + ["--scheme", "cbcs", "--force"])
        #expect(other.status == .exited(65) && other.errorText.contains("is for the scheme cenc"), "\(other.errorText)")
    }

    /// Words after a film's path that are refused, with the exit status and a part of the message.
    private static let refusals: [(words: [String], status: Int32, message: String)] = [
        (["--cpix", "keys.xml"], 64, "--cpix needs --scheme"),
        (
            [
                "--cpix", "keys.xml", "--scheme", "cenc", "--key",
                "\(String(repeating: "0", count: 32)):\(String(repeating: "1", count: 32))",
            ], 64, "exclude"
        ),
        (["--recipient", "key.pem", "--scheme", "cenc"], 64, "--recipient is for the keys of --cpix"),
        (["--cpix", "two.xml", "--scheme", "cenc"], 65, "two usage rules match"),
        (["--cpix", "none.xml", "--scheme", "cenc"], 77, "the document has no key"),
        (["--cpix", "bad.xml", "--scheme", "cenc"], 65, "the root element is not CPIX"),
        (["--cpix", "periods.xml", "--scheme", "cenc"], 64, "has 2 periods"),
        (["--cpix", "missing.xml", "--scheme", "cenc"], 66, "cannot be read"),
    ]

    @Test(arguments: refusals) func `are refused with the reason`(row: (words: [String], status: Int32, message: String))
        async throws
    {
        let film = try await film()
        let head = "<CPIX xmlns=\"urn:dashif:org:cpix\" xmlns:p=\"urn:ietf:params:xml:ns:keyprov:pskc\" contentId=\"film\">"
        let keys = Self.kids.map {
            "<ContentKey kid=\"\($0)\"><Data><p:Secret><p:PlainValue>AAAAAAAAAAAAAAAAAAAAAA==</p:PlainValue></p:Secret></Data></ContentKey>"
        }
        let list = "<ContentKeyList>\(keys.joined())</ContentKeyList>"
        let rules = Self.kids.map { "<ContentKeyUsageRule kid=\"\($0)\"/>" }.joined()
        directory.write("keys.xml", "\(head)<ContentKeyList>\(keys[0])</ContentKeyList></CPIX>")
        directory.write("two.xml", "\(head)\(list)<ContentKeyUsageRuleList>\(rules)</ContentKeyUsageRuleList></CPIX>")
        directory.write("none.xml", "\(head)<ContentKeyList/></CPIX>")
        directory.write("bad.xml", "<MPD/>")
        directory.write(
            "periods.xml",
            "\(head)\(list)<ContentKeyPeriodList><ContentKeyPeriod/><ContentKeyPeriod/></ContentKeyPeriodList></CPIX>"
        )
        let words = ["package", film, "-o", "package"] + row.words
        let result = try await runProcess([try CarrelProgram.path()] + words, directory: directory.path)
        #expect(result.status == .exited(row.status) && result.errorText.contains(row.message), "\(result.errorText)")
    }

    @Test func `are imported from a document that is encrypted to a recipient`() async throws {
        let fixture = try Fixtures.path("drm/cpix/selfmade-encrypted-two-recipients.xml")
        let (server, url, credentials) = try await serve()
        let portal = try json(try await carrel(["key", "create", "--role", "portal", "--json"]))["id"]?.string ?? ""
        let words = ["content-key", "import", fixture, "--recipient", try Fixtures.path("drm/pki/Cert2.pfx"), "--for", portal]
        let report = try json(try await carrel(words + ["--json"], input: "Cert2\n"))
        #expect(report["content"] == "book-42" && report["kids"]?.array?.count == 2)
        // a second import changes nothing
        #expect(try await carrel(words, input: "Cert2\n").contains("added 2 keys of book-42"))
        let listed = try json(try await carrel(["content-key", "list", "--json"]))["keys"]?.array ?? []
        #expect(listed.count == 2)
        for key in listed {
            #expect(key["content"] == "book-42" && key["owner"] == .string(portal) && key["clearKey"] == false)
            #expect(key.object?.names.sorted() == ["clearKey", "content", "createdAt", "kid", "owner"])
        }
        // a packager gets them for their content
        let request = Self.request("book-42").replacing(Self.kids[0], with: "9eb4050d-e44b-4802-932e-27d75083e266")
            .replacing(Self.kids[1], with: "6d76f25c-b17f-5e16-b8ea-ef6bbf582d8e")
        let path = directory.write("request.xml", request)
        let response = try await checkProcess([
            try requirePeer("curl"), "-s", "-u", credentials, "-H", "Content-Type: application/xml", "--data-binary", "@\(path)",
            "\(url)/v1/cpix",
        ])
        #expect(response.contains(Base64.encode(Hex.decode("166634c675823c235a4a9446fad52e4d") ?? [])))
        for (arguments, input, message) in [
            ([fixture], "", "--recipient names the private key"),
            ([fixture, "--recipient", try Fixtures.path("drm/pki/Cert1.pfx")], "wrong\n", "the password is wrong"),
            (
                [
                    try Fixtures.path("drm/cpix/selfmade-encrypted-bad-mac.xml"), "--recipient",
                    try Fixtures.path("drm/pki/Cert1.pfx"),
                ],
                "Cert1\n", "was altered"
            ),
            ([try Fixtures.path("drm/cpix/axinom-demo-multikey-clear.xml")], "", "names no content"),
        ] {
            let result = try await runProcess(
                [try CarrelProgram.path(), "content-key", "import", "--home", directory.file("home")] + arguments,
                input: Array(input.utf8)
            )
            #expect(!result.status.isSuccess && result.errorText.contains(message), "\(result.errorText)")
        }
        server.signal(SIGTERM)
        #expect(try await server.waitForExit() == .exited(0))
    }
}
