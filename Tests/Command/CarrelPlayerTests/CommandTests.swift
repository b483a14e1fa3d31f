// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The command as an operator uses it.
struct `The command` {
    private let directory = TemporaryDirectory()

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments, timeout: .seconds(60))
    }

    /// A home with one title of silence and one order.
    private func makeHome() async throws -> (home: String, title: String, order: String) {
        let home = directory.file("home")
        let path = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=25", "-c:a", "libmp3lame", path,
        ])
        let title = try await DemoServer.json(["ingest", path, "--home", home, "--json"])["titles"]?.array?.first?["id"]?.string
        let order = try await DemoServer.json([
            "order", "create", "--home", home, "--title", title ?? "", "--account", "alice", "--json",
        ])["id"]?.string
        return (home, try #require(title), try #require(order))
    }

    @Test func `backs up and restores, and keeps what it replaces`() async throws {
        let (home, title, order) = try await makeHome()
        let backup = directory.file("backup.db")
        #expect(try await carrel("backup", backup, "--home", home).status.isSuccess)
        #expect(try await carrel("backup", backup, "--home", home).status == .exited(1), "a backup is never overwritten")
        let later = try await DemoServer.json([
            "order", "create", "--home", home, "--title", title, "--account", "bob", "--json",
        ])["id"]?.string
        let restored = try await carrel("restore", backup, "--home", home)
        #expect(restored.status.isSuccess)
        #expect(restored.text.contains("\nended: sessions 0, links 0, app passwords 0, all tickets and credentials\n"))
        #expect(restored.text.contains("\nkept the replaced database as \(home)/carrel.db.before-restore\n"))
        let lacking = restored.text.split(separator: "in the restored database:\n").last?.split(separator: "\n") ?? []
        #expect(lacking.count == 1 && lacking[0].contains("Z order.create "), "\(restored.text)")
        let sealed = try await carrel("audit", "verify", "--home", home)
        #expect(sealed.status.isSuccess && sealed.text.hasSuffix("all seals match\n"), "\(sealed.text)")
        let listed = try await DemoServer.json(["order", "list", "--home", home, "--json"])["orders"]?.array ?? []
        #expect(listed.map { $0["id"]?.string } == [order])
        #expect(later != nil)
        #expect(directory.read("home/carrel.db.before-restore") != nil)
        let damaged = directory.write("damaged.db", Array(repeating: 7, count: 8192))
        let refused = try await carrel("restore", damaged, "--home", home)
        #expect(!refused.status.isSuccess)
        #expect(refused.errorText.hasPrefix("carrel: error:"))
        #expect(try await DemoServer.json(["order", "list", "--home", home, "--json"])["orders"]?.array?.count == 1)
    }

    @Test func `rotates the master key without changing a content key`() async throws {
        let (home, _, order) = try await makeHome()
        func contentKey() async throws -> [UInt8] {
            let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
            let line = try await server.waitForLine(containing: "listening on http")
            let url = line.split(separator: " ").last.map(String.init) ?? ""
            let playlist = try await checkProcess(["curl", "-sf", "\(url)/v1/stream/hls/\(order)/playlist.m3u8"])
            let key = try #require(playlist.split(separator: "\"").first { $0.hasPrefix("http") })
            let bytes = try await runProcess(["curl", "-sf", String(key)]).output
            _ = await server.terminate()
            return bytes
        }
        let before = try await contentKey()
        #expect(before.count == 16)
        let keyring = directory.read("home/master.key")
        for version in [2, 3] {
            let rotated = try await DemoServer.json(["keys", "rotate", "--home", home, "--json"])
            #expect(rotated["version"]?.int == version)
            #expect(rotated["rewrapped"]?.int ?? 0 >= 2, "the order's key, and the secrets that the server signs with")
        }
        #expect(directory.read("home/master.key") != keyring)
        let lines = String(decoding: directory.read("home/master.key") ?? [], as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2, "the first key is forgotten")
        #expect(try await contentKey() == before)
    }

    @Test func `rotates the secret of tickets with a server, without one, and immediately`() async throws {
        let (home, _, order) = try await makeHome()
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = "\(line.split(separator: " ").last ?? "")/v1/stream/hls/\(order)/"
        let playlist = try await checkProcess(["curl", "-sf", "\(url)playlist.m3u8"])
        let segment = try #require(playlist.split(separator: "\n").first { !$0.hasPrefix("#") })
        func status() async throws -> String {
            try await checkProcess(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "\(url)\(segment)"])
        }
        let rotated = try await carrel("keys", "rotate-tickets", "--home", home)
        #expect(rotated.text.hasPrefix("ticket secret 2 signs from 2"), "\(rotated.text)\(rotated.errorText)")
        #expect(try await checkProcess(["curl", "-sf", "\(url)playlist.m3u8"]) == playlist)
        #expect(try await status() == "200")
        let ended = try await carrel("keys", "rotate-tickets", "--at-once", "--home", home)
        #expect(ended.errorText.contains("deleted secrets: 2"), "\(ended.errorText)")
        #expect(try await status() == "403", "the server that runs knows at once")
        #expect(try await checkProcess(["curl", "-sf", "\(url)playlist.m3u8"]) != playlist)
        #expect(await server.terminate() == .exited(0))
        #expect(try await DemoServer.json(["keys", "rotate-tickets", "--home", home, "--json"])["key"]?.int == 4)
    }

    @Test func `refuses a second server, a readable master key and a wrong setting`() async throws {
        let (home, _, _) = try await makeHome()
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        _ = try await server.waitForLine(containing: "listening on http")
        let second = try await carrel("serve", "--home", home, "--port", "0")
        #expect(!second.status.isSuccess)
        #expect(second.errorText.contains("a server runs on the home"))
        #expect(await server.terminate() == .exited(0))

        let setting = try await carrel("serve", "--home", home, "--http-prot", "1")
        #expect(setting.status == .exited(64))
        #expect(setting.errorText.contains("--http-port"), "it says what was probably meant")

        try await checkProcess(["chmod", "644", "\(home)/master.key"])
        let readable = try await carrel("order", "list", "--home", home)
        #expect(!readable.status.isSuccess)
        #expect(readable.errorText.contains("chmod 600"))
    }

    @Test(arguments: [
        ("empty", [UInt8](), "is empty"),
        ("text", Array("once upon a time there was no sound at all in this file".utf8), "is not sound that can be read"),
    ])
    func `refuses a file that is not audio, and leaves no files`(name: String, bytes: [UInt8], why: String) async throws {
        let home = directory.file("home")
        let path = directory.write("\(name).flac", bytes)
        let refused = try await carrel("ingest", path, "--home", home)
        #expect(refused.status == .exited(65))
        #expect(refused.errorText.contains(why))
        #expect(try await checkProcess(["find", "\(home)/blobs", "-type", "f", "!", "-name", "installation"]) == "")
        #expect(try await DemoServer.json(["title", "list", "--home", home, "--json"])["titles"]?.array?.isEmpty == true)
    }

    /// ffmpeg would follow each of these to the sound that it names, were it not told which formats it may read.
    @Test(arguments: [
        ("hls", "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:25\n#EXTINF:25,\ntone.mp3\n#EXT-X-ENDLIST\n"),
        ("concat", "ffconcat version 1.0\nfile tone.mp3\n"),
    ])
    func `opens no file named by a playlist disguised as audio`(format: String, text: String) async throws {
        let (home, _, _) = try await makeHome()
        let path = directory.write("playlist.flac", text)
        let entries = ["-show_entries", "format=format_name:stream=codec_name", "-of", "csv=p=0"]
        let followed = try await checkProcess(["ffprobe", "-v", "error"] + entries + [path])
        #expect(followed.split(separator: "\n").suffix(2) == ["mp3", Substring(format)], "without the list it is followed")
        let refused = try await carrel("ingest", path, "--home", home)
        #expect(refused.status == .exited(65))
        #expect(
            refused.errorText.contains("is damaged, or not in one of the formats that can be ingested (MP3,"),
            "\(refused.errorText)"
        )
        #expect(try await DemoServer.json(["title", "list", "--home", home, "--json"])["titles"]?.array?.count == 1)
    }

    @Test func `takes a folder of more files than it may have open`() async throws {
        let (home, _, _) = try await makeHome()
        try await checkProcess([
            "bash", "-c",
            "mkdir \(directory.path)/book && for i in $(seq 300); do ln \(directory.file("tone.mp3")) \(directory.path)/book/$i.mp3; done",
        ])
        let taken = try await runProcess([
            "bash", "-c",
            "ulimit -n 100; exec \(DemoServer.program) ingest \(directory.path)/book --home \(home) --sample-seconds 0 --json",
        ])
        #expect(taken.status == .exited(0), "\(taken.errorText)")
        let title = try #require(try JSON.parse(taken.output.rawSpan)["titles"]?.array?.first)
        #expect(title["chapters"]?.array?.count == 300)
    }

    @Test func `takes the usable part of a truncated file only when told to`() async throws {
        let (home, _, _) = try await makeHome()
        let whole = directory.read("tone.mp3") ?? []
        let cut = directory.write("cut.mp3", Array(whole.prefix(whole.count / 2)))
        let refused = try await carrel("ingest", cut, "--home", home)
        #expect(refused.status == .exited(65))
        #expect(refused.errorText.contains("are usable"))
        #expect(refused.errorText.contains("carrel: hint: --allow-truncated"))
        let taken = try await DemoServer.json(["ingest", cut, "--home", home, "--allow-truncated", "--json"])
        let seconds = taken["titles"]?.array?.first?["duration"]?.double ?? 0
        #expect(seconds > 10 && seconds < 15)
    }

    @Test(arguments: ["flac", "wav", "ogg", "opus", "aiff", "mka"])
    func `notices that a file which ffmpeg reads is cut off`(suffix: String) async throws {
        let (home, _, _) = try await makeHome()
        let whole = "\(directory.path)/whole.\(suffix)"
        try await checkProcess(["ffmpeg", "-v", "error", "-i", directory.file("tone.mp3"), whole])
        let taken = try await DemoServer.json(["ingest", whole, "--home", home, "--json"])
        #expect(taken["titles"]?.array?.count == 1, "a whole one is taken")
        let bytes = directory.read("whole.\(suffix)") ?? []
        let cut = directory.write("cut.\(suffix)", Array(bytes.prefix(bytes.count / 2)))
        let refused = try await carrel("ingest", cut, "--home", home)
        #expect(refused.status == .exited(65))
        #expect(refused.errorText.contains("cut off"), "\(refused.errorText)")
        #expect(try await carrel("ingest", cut, "--home", home, "--allow-truncated").status == .exited(0))
    }
}
