// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// Licenses on a device whose disk is full: the limit of a file's size, as a full disk's, refuses each write of the reader.
struct `A device whose disk is full` {
    private let directory = TemporaryDirectory()
    private let environment = ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]

    private var reader: String { directory.file("reader") }

    /// Runs a command of the reader, on a full disk or not.
    private func carrel(_ words: [String], isFull: Bool = false) async throws -> ProcessResult {
        let command = [DemoServer.program] + words + ["--home", reader, "--json"]
        // A limit of 1 KiB: the outputs are pipes.
        let limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash"]
        return try await runProcess((isFull ? limited : []) + command, environment: environment, timeout: .seconds(60))
    }

    private func play(_ content: String, _ more: String...) async throws -> ProcessResult {
        let program = DemoServer.program.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/PlayerProgram"
        return try await runProcess([program, "\(reader)/reader", content, "1"] + more, environment: environment)
    }

    private func json(_ result: ProcessResult) throws -> JSON {
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    private func licenses() async throws -> [String: JSON] {
        let list = try json(try await carrel(["license", "list"]))
        return (list["licenses"]?.array ?? []).reduce(into: [:]) { $0[$1["id"]?.string ?? ""] = $1 }
    }

    private func expectFull(_ result: ProcessResult, _ place: SourceLocation = #_sourceLocation) {
        #expect(result.status == .exited(74), "\(result.errorText)", sourceLocation: place)
        #expect(result.errorText.contains("the disk of \(reader)/reader is full"), "\(result.errorText)", sourceLocation: place)
        #expect(result.errorText.contains("free space"), "\(result.errorText)", sourceLocation: place)
    }

    /// The files of the reader; SQLite's shared memory is not content.
    private func files() async throws -> [String] {
        try await checkProcess(["find", reader, "-type", "f"]).split(separator: "\n").map(String.init)
            .filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }.sorted()
    }

    /// A small file system in memory, filled to its last byte, in a namespace of the test's own.
    @Test(.enabled("this system gives tests no mounts of their own (unshare -Urm)") { await Mounts.areAllowed() })
    func `leaves a store that opens, whatever was tried on it`() async throws {
        let site = try await AdminSite()
        let key = try await DemoServer.json(["key", "create", "--role", "service", "--home", site.home, "--json"])
        let form =
            "customerAuthenticator=\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")&actionTokenType=1&rightsType=BuyToOwn"
            + "&contentId=cid:film&contentKey=166634c675823c235a4a9446fad52e4d"
        let token = directory.write(
            "token.xml",
            Array(try await checkProcess(["curl", "-sS", "-d", form, "\(site.url)/hms/bb/token"]).utf8)
        )
        let disk = directory.file("disk")
        unsafe mkdir(disk, 0o700)
        let script = """
            mount -t tmpfs -o size=2m tmpfs \(disk) || exit 99
            CARREL=\(DemoServer.program); PLAY=${CARREL%/*}/PlayerProgram; HERE="--home \(disk)/r"
            fill() { cat /dev/zero > \(disk)/filler 2>/dev/null; }
            $CARREL device personalize --server \(site.url) --vault file $HERE >&2 || exit 98
            fill; $CARREL token redeem \(token) $HERE; echo "redeem $?"
            rm \(disk)/filler; $CARREL license list $HERE --json
            $CARREL token redeem \(token) $HERE >&2 || exit 97
            id=$($CARREL license list $HERE | grep -o '[0-9a-f]*-[0-9a-f-]*' | head -1)
            fill; $PLAY \(disk)/r/reader cid:film 1; echo "play $?"
            $CARREL license renew $id $HERE; echo "renew $?"
            $CARREL license release $id $HERE; echo "release $?"
            $CARREL license evaluate cid:film $HERE; echo "evaluate $?"
            rm \(disk)/filler
            $PLAY \(disk)/r/reader cid:film 1 && $CARREL license renew $id $HERE >&2 && $CARREL license release $id $HERE || exit 96
            $CARREL license list $HERE --json
            """
        let result = try await runProcess(
            ["unshare", "-Urm", "bash", "-uc", script],
            environment: environment,
            timeout: .seconds(120)
        )
        #expect(result.status == .exited(0), "\(result.text)\(result.errorText)")
        let lines = result.text.split(separator: "\n").map(String.init)
        #expect(
            ["redeem 74", "play 1", "renew 74", "release 74", "playing 1"].allSatisfy { lines.contains($0) },
            "\(result.text)\(result.errorText)"
        )
        // before it was redeemed, and after it was given back
        #expect(lines.count { $0 == "  \"licenses\": []" } == 2, "\(result.text)")
        // SQLite needs room for the index of its log to open the store.
        #expect(lines.contains("evaluate 74"), "\(result.text)\(result.errorText)")
        #expect(result.errorText.contains("the disk of \(disk)/r/reader is full"), "\(result.errorText)")
        await site.stop()
    }

    @Test func `redeems, plays, renews and gives back nothing, and does each once there is room`() async throws {
        let site = try await AdminSite()
        let tone = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "libmp3lame", tone,
        ])
        let title = try await DemoServer.json(["ingest", tone, "--home", site.home, "--json"])["titles"]?.array?.first?["id"]?
            .string
        let words = [
            "token", "create", "--title", title ?? "", "--home", site.home, "--output", directory.file("token.xml"), "--json",
        ]
        let token = try #require(try await DemoServer.json(words)["jwt"]?.string)
        let content = "urn:carrel:title:\(title ?? "")"
        let person = try await carrel(["device", "personalize", "--server", site.url, "--vault", "file"], isFull: true)
        #expect(!person.status.isSuccess && person.output.isEmpty, "\(person.errorText)")
        #expect(try await carrel(["device", "personalize", "--server", site.url, "--vault", "file"]).status.isSuccess)
        let before = try await files()

        expectFull(try await carrel(["token", "redeem", token], isFull: true))
        #expect(try await licenses().isEmpty)
        #expect(try await files() == before, "nothing is left behind")
        let redeemed = try await carrel(["token", "redeem", token])
        let license = try #require(try json(redeemed)["license"]?.string, "\(redeemed.errorText)")

        let first = try await play(content, "file-size=1024")
        #expect(first.text == "player.store the disk of \(reader)/reader is full\n", "a play that is not counted does not begin")
        #expect(try await licenses()[license]?["plays"]?.int == 0)
        #expect(try await play(content).text == "playing 1\n")
        let played = try #require(try await licenses()[license])
        #expect(played["plays"]?.int == 1 && played["firstPlayedAt"]?.string != nil)

        expectFull(try await carrel(["license", "renew", license], isFull: true))
        #expect(try await licenses()[license] == played, "the license is as it was")
        #expect(try json(try await carrel(["license", "renew", license]))["reportedPlays"]?.int == 1)

        expectFull(try await carrel(["license", "release", license], isFull: true))
        #expect(try await licenses().count == 1, "a release that is not noted does not happen")
        let explained = try await DemoServer.json(["explain", "--license", license, "--home", site.home, "--json"])
        #expect(explained["verdict"] == "live")
        #expect(try json(try await carrel(["license", "release", license]))["reported"]?.bool == true)
        #expect(try await licenses().isEmpty)
        let text = try await checkProcess([DemoServer.program, "explain", "--license", license, "--home", site.home])
        #expect(text.contains("license \(license): ended") && text.contains("the player gave it back at "), "\(text)")
        #expect(try await files() == before)
        await site.stop()
    }
}
