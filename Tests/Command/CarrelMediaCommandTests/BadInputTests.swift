// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights
import CarrelTesting
import Testing

/// Files and requests that are refused: the time and memory of the command and of the server.
@Suite(.serialized, .enabled(if: !PeakCost.isSanitized)) struct `Bad input` {
    private let directory = TemporaryDirectory()
    /// The limits of time and memory, in addition to the cost of a command that does nothing.
    private static let bound = (seconds: PeakCost.refusalSeconds, mebibytes: 64.0)

    /// Runs the command, which refuses its input with these words within the bounds.
    private func expectRefusal(_ arguments: [String], _ words: String, status: Int32) async throws {
        let least = try await MeasuredCommand.run(["--version"])
        let run = try await MeasuredCommand.run(arguments)
        let text = run.result.errorText
        #expect(run.result.status == .exited(status) && text.contains(words), "\(arguments): \(text)")
        #expect(run.seconds < least.seconds + Self.bound.seconds, "\(arguments): \(run.seconds) s")
        #expect(run.mebibytes < least.mebibytes + Self.bound.mebibytes, "\(arguments): \(run.mebibytes) MiB")
    }

    // MARK: - DCF

    /// The place of the first box of a type.
    private static func place(of type: String, in bytes: [UInt8]) -> Int {
        bytes.indices.first { bytes[$0...].starts(with: Array(type.utf8)) } ?? 0
    }

    /// The protected book of the fixtures, with other bytes at an offset from the type of a box.
    private static func book(_ type: String, _ offset: Int, _ new: [UInt8]) throws -> [UInt8] {
        var bytes = try Fixtures.bytes("drm/dcf/book-ctr.dcf")
        let start = place(of: type, in: bytes) + offset
        bytes.replaceSubrange(start..<start + new.count, with: new)
        return bytes
    }

    @Test func `that is a damaged DCF is refused by the command in little time and memory`() async throws {
        let table = try Fixtures.bytes("drm/dcf/expected.json")
        let key = try #require(try JSON.parse(table.rawSpan)["key_hex"]?.string)
        let long: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0]
        let files: [(bytes: [UInt8], words: String)] = [
            (try Fixtures.bytes("drm/dcf/book-cbc-truncated.dcf"), "box odrm reaches past the end of the file"),
            (try Fixtures.bytes("drm/dcf/book-cbc-badpad.dcf"), "padding"),
            // 4 GiB of the whole file, of its headers, and of its data
            (try Self.book("odrm", 4, long), "box odrm reaches past the end of the file"),
            (try Self.book("odhe", -4, [0xff, 0xff, 0xff, 0xff]), "box odhe reaches past its parent"),
            (try Self.book("odda", 4, long), "box odda reaches past its parent"),
        ]
        for (index, file) in files.enumerated() {
            let (path, clear) = (directory.write("file-\(index).dcf", file.bytes), directory.file("clear"))
            try await expectRefusal(["decrypt", path, "-q", "-o", clear, "--key", "*:\(key)"], file.words, status: 65)
            #expect(directory.read("clear") == nil)
        }
    }

    @Test func `that is a DCF with headers of 4 GiB is refused without reading them`() async throws {
        // the file has them, too: it is sparse
        var bytes = try Fixtures.bytes("drm/dcf/book-ctr.dcf")
        let (file, headers) = (Self.place(of: "odrm", in: bytes), Self.place(of: "odhe", in: bytes))
        bytes.replaceSubrange(headers - 4..<headers, with: [0xff, 0xff, 0xff, 0x00])
        bytes.replaceSubrange(file + 4..<file + 12, with: [0, 0, 0, 1, 0x10, 0, 0, 0])
        let path = directory.write("large.dcf", bytes)
        try await checkProcess(["truncate", "-s", "5G", path])
        for arguments in [
            ["decrypt", path, "-q", "-o", directory.file("clear"), "--key", "*:00112233445566778899aabbccddeeff"],
            ["media", "inspect", path], ["open", path, "--home", directory.file("reader")],
        ] {
            let least = try await MeasuredCommand.run(["--version"])
            let run = try await MeasuredCommand.run(arguments)
            #expect(!run.result.status.isSuccess, "\(arguments): \(run.result.text)")
            #expect(run.result.errorText.contains("header"), "\(arguments): \(run.result.errorText)")
            #expect(run.seconds < least.seconds + Self.bound.seconds, "\(arguments): \(run.seconds) s")
            #expect(run.mebibytes < least.mebibytes + Self.bound.mebibytes, "\(arguments): \(run.mebibytes) MiB")
        }
    }

    // MARK: - CPIX, SPEKE, ClearKey

    private static func cpix(_ content: String) -> String {
        """
        <CPIX xmlns="urn:dashif:org:cpix" xmlns:pskc="urn:ietf:params:xml:ns:keyprov:pskc" contentId="c" version="2.3">\(content)</CPIX>
        """
    }

    private static func keys(_ count: Int) -> String {
        let keys = (0..<count).map { "<ContentKey kid=\"\(KeyID(label: "\($0)").uuid)\" commonEncryptionScheme=\"cenc\"/>" }
        return cpix("<ContentKeyList>\(keys.joined())</ContentKeyList>")
    }

    private static let entities = """
        <!DOCTYPE CPIX [<!ENTITY a "aaaaaaaaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">\
        <!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;">]>\(cpix("&e;&e;&e;&e;"))
        """

    @Test func `that is CPIX is refused by the command in little time and memory`() async throws {
        let film = try Fixtures.path("media/cenc/av.cenc.mp4")
        let documents: [(String, String)] = [
            (Self.keys(100_000), "content keys"), (Self.entities, "DOCTYPE"),
            (Self.cpix("<DeliveryDataList>" + String(repeating: "<DeliveryData/>", count: 100_000) + "</DeliveryDataList>"), ""),
        ]
        for (text, words) in documents {
            let path = directory.write("keys.xml", text)
            let clear = directory.file("clear.mp4")
            try await expectRefusal(["decrypt", film, "--cpix", path, "-q", "-o", clear], words, status: 65)
            try await expectRefusal(
                ["content-key", "import", path, "--home", directory.file("home")],
                words,
                status: 65
            )
        }
    }

    /// The resident memory of a process, in mebibytes.
    private static func memory(_ process: BackgroundProcess, _ field: String) throws -> Double {
        let bytes = try #require(Fixtures.bytes(at: "/proc/\(process.processID)/status"))
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(field) }
        let number = try #require(line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first)
        return try #require(Double(number)) / 1024
    }

    @Test func `that a server gets is refused in little time and memory`() async throws {
        let (program, home) = (try CarrelProgram.path(), directory.file("home"))
        try await checkProcess([program, "init", "--home", home])
        let made = Array(try await checkProcess([program, "key", "create", "--role", "packager", "--json", "--home", home]).utf8)
        let key = try JSON.parse(made.rawSpan)
        let credentials = "\(key["id"]?.string ?? ""):\(key["key"]?.string ?? "")"
        let server = try BackgroundProcess([program, "serve", "--home", home, "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = try #require(line.split(separator: " ").last.map(String.init))
        let kids = (0..<10_000).map { "\"\(Base64URL.encode(KeyID(label: "\($0)").bytes))\"" }
        let requests: [(path: String, fields: [String], body: String, status: String, words: String)] = [
            ("/v1/cpix", [], Self.keys(100_000), "413", ""), ("/v1/cpix", [], Self.keys(5000), "413", "content keys"),
            ("/v1/cpix", [], Self.entities, "400", "DOCTYPE"),
            ("/speke/v2/copyProtection", ["X-Speke-Version: 9.0"], Self.keys(1), "400", "Unsupported SPEKE version"),
            (
                "/speke/v2/copyProtection", ["X-Speke-Version: 2.0"], Self.keys(1).replacing("\"2.3\"", with: "\"1.0\""), "400",
                "version"
            ),
            ("/v1/clear-key", ["Content-Type: application/json"], "{\"kids\":[\(kids.joined(separator: ","))]}", "400", "10000"),
            ("/AcquireLicense", ["Content-Type: application/json"], "{\"kids\":[\(kids.joined(separator: ","))]}", "400", ""),
        ]
        // what is loaded once does not count
        for (path, fields, body, _, _) in [requests[1], requests[5]] { _ = try await send(path, fields, body, url, credentials) }
        for (path, fields, body, status, words) in requests {
            // the peak counts from here
            try await checkProcess(["sh", "-c", "echo 5 > /proc/\(server.processID)/clear_refs"])
            let before = try Self.memory(server, "VmRSS:")
            let answer = try await send(path, fields, body, url, credentials)
            #expect(answer.status == status, "\(path): \(answer.text.prefix(300))")
            #expect(answer.text.contains(words), "\(path): \(answer.text.prefix(300))")
            #expect(answer.seconds < Self.bound.seconds, "\(path): \(answer.seconds) s")
            let growth = try Self.memory(server, "VmHWM:") - before
            #expect(growth < Self.bound.mebibytes, "\(path): \(growth) MiB")
        }
        #expect(await server.terminate() == .exited(0))
    }

    private func send(
        _ path: String,
        _ fields: [String],
        _ body: String,
        _ url: String,
        _ credentials: String
    ) async throws -> (status: String, seconds: Double, text: String) {
        let request = directory.write("request", body)
        let isXML = body.hasPrefix("<")
        let headers = (fields + (isXML ? ["Content-Type: application/xml"] : [])).flatMap { ["-H", $0] }
        let text = try await checkProcess(
            [try requirePeer("curl"), "-s", "--data-binary", "@\(request)", "-o", directory.file("answer")]
                + (isXML ? ["-u", credentials] : []) + headers + ["-w", "%{http_code} %{time_total}", url + path]
        )
        let parts = text.split(separator: " ")
        return (
            String(parts[0]), try #require(Double(parts[1])), String(decoding: directory.read("answer") ?? [], as: UTF8.self)
        )
    }
}
