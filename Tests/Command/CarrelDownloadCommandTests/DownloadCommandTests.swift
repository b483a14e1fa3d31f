// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

@Suite(.serialized) struct `Saving and playing without a network` {
    private let world = CommandWorld()

    @Test func `keeps the contract of scripts: add, list, show`() async throws {
        try await world.makeFilm()
        let item = try #require(try await world.json(["download", "add", world.url]).only)
        #expect(item.object?.names == ["id", "title", "state", "reason", "done", "total", "until"])
        #expect(item["state"]?.string == "completed" && item["title"]?.string == "film.m3u8")
        #expect(item["reason"]?.isNull == true && item["until"]?.isNull == true)
        let done = try #require(item["done"]?.int)
        #expect(done > 0 && item["total"]?.int == done)
        let id = try #require(item["id"]?.string)
        #expect(id.utf8.count == 26)
        let list = try #require(try await world.json(["download", "list"], passphrase: nil).only)
        #expect(list.object?.names == ["downloads"] && list["downloads"]?.array == [item])
        let shown = try #require(try await world.json(["download", "show", id], passphrase: nil).only)
        #expect(shown["folder"]?.string == world.package(id))
        #expect(shown["package"]?["complete"]?.bool == true && shown["package"]?["seal"]?.string == "keys")
        let files = try #require(shown["package"]?["streams"]?.array?.first?["files"]?.array)
        #expect(files.count { $0["initialization"]?.bool == false } == 8)
        // for people, and by the beginning of the id
        let text = try await world.carrel(["download", "show", String(id.prefix(6))], passphrase: nil).text
        #expect(text.contains("title     film.m3u8") && text.contains("state     completed"))
        #expect(try await world.carrel(["download", "list"], passphrase: nil).text.contains("film.m3u8"))
        // a source that is saved already is the existing item, and nothing is fetched
        let before = world.log.count
        let again = try #require(try await world.json(["download", "add", world.url]).only)
        #expect(again == item && world.log.count == before)
    }

    @Test(arguments: ["keys", "all"])
    func `plays with all servers stopped, and the same pictures as online`(mode: String) async throws {
        try await world.makeFilm()
        let online = try await world.carrel(["play", world.url, "--player", try await world.player()])
        try #require(online.status.isSuccess, "\(online.errorText)")
        let frames = world.frames()
        #expect(frames.count == 80)
        let id = try await world.save(["--seal", mode])
        world.stopServer()
        // without a network, this machine's own addresses excepted
        let script = """
            ip link set lo up
            "$1" play "$2" --home "$3" --print-url < /dev/null > "$4/url" & proxy=$!
            while ! grep -q http "$4/url"; do kill -0 $proxy || exit 1; sleep 0.1; done
            ffmpeg -y -nostdin -v error -xerror -i "$(head -n 1 "$4/url")" -map 0:v -f framemd5 "$4/frames"; status=$?
            kill -INT $proxy; wait $proxy && exit $status
            """
        _ = world.directory.write("url", "")
        _ = world.directory.write("frames", "")
        let result = try await runProcess(
            ["unshare", "-rn", "sh", "-c", script, "sh", try CarrelProgram.path(), id, world.home, world.directory.path],
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "CARREL_VAULT_PASSPHRASE": CommandWorld.passphrase,
                "HOME": world.directory.path,
            ],
            timeout: .seconds(120)
        )
        try #require(result.status.isSuccess, "\(result.errorText)")
        #expect(world.frames() == frames)
    }

    @Test func `plays an item by its title and by its source, and prints each step with --trace`() async throws {
        try await world.makeFilm()
        let player = try await world.player()
        _ = try await world.save(["--title", "Big Film", "--seal", "all"])
        world.stopServer()
        for name in ["Big Film", world.url] {
            let result = try await world.carrel(["play", name, "--player", player, "--trace"])
            #expect(result.status.isSuccess, "\(name): \(result.errorText)")
            #expect(world.frames().count == 80)
            #expect(result.text == "", "the address is a secret of the player")
            for words in ["initiating offline playback", "playback", "player item ready", "access log", "played to the end"] {
                #expect(result.errorText.contains(words), "\(words): \(result.errorText)")
            }
            #expect(result.errorText.contains(" ms "))
            #expect(!result.errorText.contains("\u{1b}"), "color is for terminals")
        }
        // another word is neither a download nor a file
        let unknown = try await world.carrel(["play", "Big Filn", "--player", player])
        #expect(unknown.status == .exited(66), "\(unknown.errorText)")
    }

    @Test func `traces what is saved, in color on a terminal alone`() async throws {
        try await world.makeFilm()
        let plain = try await world.carrel(["download", "add", world.url, "--trace"])
        #expect(plain.status.isSuccess && !plain.errorText.contains("\u{1b}"), "\(plain.errorText)")
        for words in [
            "content is encrypted", "all keys available", "selection being downloaded", "percent=100", "selection finished",
        ] {
            #expect(plain.errorText.contains(words), "\(words): \(plain.errorText)")
        }
        let lines = plain.errorText.split(separator: "\n").filter { !$0.contains("are in the vault") }
        #expect(lines.allSatisfy { $0.firstMatch(of: /^ *\d+ ms +\d\d:\d\d:\d\d/) != nil }, "\(plain.errorText)")
        let keys = try #require(lines.firstIndex { $0.contains("all keys available") })
        let media = try #require(lines.firstIndex { $0.contains("selection being downloaded") })
        #expect(keys < media, "the keys come first")
        let script = try requirePeer("script")
        for (color, variables) in [(true, [:]), (false, ["NO_COLOR": "1"])] {
            let result = try await runProcess(
                [
                    script, "-qec", "'\(try CarrelProgram.path())' play film.m3u8 --home '\(world.home)' --player true --trace",
                    "/dev/null",
                ],
                environment: ["PATH": "/usr/bin:/bin", "TERM": "xterm", "CARREL_VAULT_PASSPHRASE": CommandWorld.passphrase]
                    .merging(variables) { $1 }
            )
            #expect(result.text.contains("\u{1b}[32mplayback") == color, "\(result.text)")
        }
    }

    @Test func `has a bar for each item on a terminal`() async throws {
        try await world.makeFilm()
        world.delaySegments(milliseconds: 150)
        let script = try requirePeer("script")
        let words = "download add \(world.url) '\(world.url)?again' --home '\(world.home)'"
        let result = try await runProcess(
            [script, "-qec", "'\(try CarrelProgram.path())' \(words)", "/dev/null"],
            environment: ["PATH": "/usr/bin:/bin", "TERM": "xterm", "CARREL_VAULT_PASSPHRASE": CommandWorld.passphrase]
        )
        #expect(result.status.isSuccess, "\(result.text)")
        // both bars are erased and drawn again: the cursor goes a line up
        #expect(result.text.contains("\u{1b}[A\u{1b}[K") && result.text.contains("film.m3u8 "), "\(result.text)")
        #expect(result.text.contains("completed"))
    }

    @Test func `leaves the rest to run after Ctrl-C, and fetches no finished segment again`() async throws {
        try await world.makeFilm()
        world.delaySegments(milliseconds: 400)
        let adding = try world.start(["download", "add", world.url, "--connections", "1", "--json"])
        try await eventually { world.segments.count >= 4 }
        adding.signal(SIGINT)
        #expect(try await adding.waitForExit() == .exited(130), "\(adding.errors)")
        let left = try #require(try CommandWorld.objects(adding.output).only)
        #expect(left["state"]?.string == "queued")
        let (before, id) = (world.segments, left["id"]?.string ?? "")
        world.delaySegments(milliseconds: 0)
        let run = try #require(try await world.json(["download", "run"]).only)
        #expect(run["downloads"]?.array?.map { $0["state"]?.string } == ["completed"])
        #expect(run["downloads"]?.array?.first?["id"]?.string == id)
        // what was in flight alone
        let twice = Set(world.segments).count { name in world.segments.count { $0 == name } > 1 }
        #expect(Set(world.segments).count == 8 && twice <= 1, "\(before) \(world.segments)")
    }

    @Test func `queues, pauses, resumes, sets and cancels without the vault`() async throws {
        try await world.makeFilm()
        let item = try #require(
            try await world.json(["download", "add", world.url, "--queue", "--pin", "--network", "any"]).only
        )
        let id = try #require(item["id"]?.string)
        #expect(item["state"]?.string == "queued" && world.segments.isEmpty)
        let paused = try #require(try await world.json(["download", "pause", id], passphrase: nil).only)
        #expect(paused["state"]?.string == "paused")
        let idle = try #require(try await world.json(["download", "run"]).only)
        #expect(idle["downloads"]?.array?.isEmpty == true && world.segments.isEmpty)
        let resumed = try #require(try await world.json(["download", "resume", "--all"], passphrase: nil).only)
        #expect(resumed["state"]?.string == "queued")
        _ = try await world.json(["download", "set", id, "--priority", "7", "--unpin", "--limit-rate", "1MB"], passphrase: nil)
        let shown = try #require(try await world.json(["download", "show", id], passphrase: nil).only)
        #expect(shown["priority"]?.int == 7 && shown["pinned"]?.bool == false)
        let limits = try #require(
            try await world.json(["download", "set", "--items", "2", "--quota", "1GB", "--evict", "on"], passphrase: nil).only
        )
        #expect(limits["items"]?.int == 2 && limits["quota"]?.int == 1_000_000_000 && limits["evict"]?.bool == true)
        let canceled = try await world.carrel(["download", "cancel", id], passphrase: nil)
        #expect(canceled.status.isSuccess, "\(canceled.errorText)")
        #expect(try await world.json(["download", "list"], passphrase: nil).only?["downloads"]?.array == [])
    }

    @Test func `deletes with a locked vault`() async throws {
        try await world.makeFilm()
        let id = try await world.save()
        let locked = try await world.carrel(["play", id, "--print-url"], passphrase: nil)
        #expect(locked.status == .exited(82) && locked.errorText.contains("the vault needs a passphrase"), "\(locked.errorText)")
        let wrong = try await world.carrel(["play", id, "--print-url", "--json"], passphrase: "another")
        #expect(wrong.status == .exited(82) && wrong.errorText.contains("\"download.vault\""), "\(wrong.errorText)")
        let deleted = try await world.carrel(["download", "delete", id], passphrase: nil)
        #expect(deleted.status.isSuccess, "\(deleted.errorText)")
        #expect(unsafe access(world.package(id), F_OK) != 0)
        #expect(try await world.json(["download", "list"], passphrase: nil).only?["downloads"]?.array == [])
        let gone = try await world.carrel(["download", "delete", id], passphrase: nil)
        #expect(gone.status == .exited(66) && gone.errorText.contains("there is no download"))
    }

    // MARK: - Failures with statuses of their own

    private func segments(_ id: String) async throws -> [String] {
        try await checkProcess(["find", world.package(id), "-name", "*.frag"]).split(separator: "\n").map(String.init).sorted()
    }

    @Test(arguments: ["altered", "cut", "swapped", "missing"])
    func `ends with the status of a segment that is not as it was saved`(fault: String) async throws {
        try await world.makeFilm()
        let player = try await world.player()
        let id = try await world.save()
        let files = try await segments(id)
        let file = try #require(files.dropFirst(4).first)
        switch fault {
        case "altered":
            var bytes = try #require(Fixtures.bytes(at: file))
            bytes[bytes.count / 2] ^= 1
            try await checkProcess(["cp", world.directory.write("changed", bytes), file])
        case "cut": try await checkProcess(["truncate", "-s", "-16", file])
        case "swapped":
            try await checkProcess(["mv", files[5], world.directory.file("kept")])
            try await checkProcess(["cp", file, files[5]])
        default: try await checkProcess(["rm", file])
        }
        let result = try await world.carrel(["play", id, "--player", player])
        #expect(result.status == .exited(fault == "missing" ? 83 : 84), "\(fault): \(result.errorText)")
        let name = try #require((fault == "swapped" ? files[5] : file).split(separator: "/").last)
        #expect(result.errorText.contains(name), "\(result.errorText)")
        #expect(result.errorText.contains("hint:"))
    }

    @Test func `refuses a package that was copied to another folder`() async throws {
        try await world.makeFilm()
        let id = try await world.save(["--seal", "all"])
        let other = CommandWorld()
        try await other.makeFilm()
        let second = try await other.save(["--seal", "all"])
        try await checkProcess(["rm", "-r", other.package(second)])
        try await checkProcess(["cp", "-a", world.package(id), other.package(second)])
        let result = try await other.carrel(["play", second, "--print-url"])
        #expect(!result.status.isSuccess && result.text == "", "\(result.errorText)")
    }
}

@Suite(.serialized) struct `Mistakes with downloads` {
    private let world = CommandWorld()

    @Test func `are named with what to do, and have the statuses of scripts`() async throws {
        let wrong: [(words: [String], status: Int32, text: String)] = [
            (["download", "add"], 64, "source"), (["download", "pause"], 64, "name a download"),
            (["download", "pause", "x", "--all"], 64, "exclude each other"),
            (["download", "delete", "abcdef"], 66, "there are no downloads"),
            (["download", "add", world.url, "--seal", "some"], 64, "keys, all"),
            (["download", "add", world.url, "--audio", "all", "--audio", "de"], 64, "exclude each other"),
            (["download", "add", "a", "b", "--title", "x"], 64, "--title is for one source"),
            (["download", "add", world.url, "--limit-rate", "0"], 64, "--limit-rate"),
            (["download", "set"], 64, "nothing to set"), (["download", "set", "--priority", "1"], 64, "need the id"),
            (["download", "add", "ms3s://example.org/x#y"], 77, "MS3"),
            (["download", "add", "http://example.org/film.m3u8"], 77, "plain http"),
            (["play", "x", "--print-url", "--player", "mpv"], 64, "exclude each other"),
            (["play", "no-such-film", "--print-url"], 66, "no-such-film"),
            (["download", "save", world.url], 64, "carrel download add"),
        ]
        for (words, status, text) in wrong {
            let result = try await world.carrel(words)
            #expect(result.status == .exited(status), "\(words): \(result.status) \(result.errorText)")
            #expect(result.errorText.contains(text), "\(words): \(result.errorText)")
        }
        let empty = try #require(try await world.json(["download", "list"]).only)
        #expect(empty["downloads"]?.array?.allSatisfy { $0["state"]?.string == "failed" } == true)
    }

    @Test func `in a list name the entry and the field`() async throws {
        try await world.makeFilm()
        let list = world.directory.write(
            "Streams.json",
            """
            [{"title": "Big Film", "videoUrl": "\(world.url)", "licenseServer": "", "fpsCertificateUrl": "", "licenseToken": ""},
             {"title": "Far Film", "videoUrl": "http://example.org/film.m3u8"}]
            """
        )
        let item = try #require(try await world.json(["download", "add", "Big Film", "--streams", list]).only)
        #expect(item["title"]?.string == "Big Film" && item["state"]?.string == "completed")
        let near = try await world.carrel(["download", "add", "Big Filn", "--streams", list])
        #expect(near.status == .exited(66) && near.errorText.contains("did you mean 'Big Film'?"))
        let plain = try await world.carrel(["download", "add", "Far Film", "--streams", list])
        #expect(
            plain.status == .exited(77) && plain.errorText.contains("'Far Film', field videoUrl")
                && plain.errorText.contains("--allow-http")
        )
        let bad = world.directory.write("Bad.json", #"[{"title": "A", "videoUrl": 7}]"#)
        let malformed = try await world.carrel(["download", "add", "A", "--streams", bad, "--json"])
        #expect(malformed.status == .exited(65) && malformed.errorText.contains("\"streams.entry\""))
        #expect(malformed.errorText.contains("entry 1 ('A'), field videoUrl"))
        let large = world.directory.write("Large.json", String(repeating: " ", count: 10_000_000))
        let tooLarge = try await world.carrel(["play", "A", "--print-url", "--streams", large])
        #expect(tooLarge.status == .exited(65) && tooLarge.errorText.contains("larger than"))
        let none = try await world.carrel(["download", "add", "A", "--streams", "/none"])
        #expect(none.status == .exited(66) && none.errorText.contains("/none cannot be read"))
    }

    @Test func `with live sources are refused, and leave the item with its reason`() async throws {
        try await world.makeFilm(isLive: true)
        let result = try await world.carrel(["download", "add", world.url, "--json"])
        #expect(result.status == .exited(65), "\(result.errorText)")
        let item = try #require(try CommandWorld.objects(result.text).only)
        #expect(item["state"]?.string == "failed" && item["reason"]?.string == "download.live")
        #expect(result.errorText.contains("\"code\":\"download.live\""))
    }

    @Test func `find their help`() async throws {
        for words in [["download"], ["download", "add"], ["download", "run"], ["download", "set"], ["play"]] {
            let result = try await runProcess([try CarrelProgram.path()] + words + ["--help"])
            #expect(result.status.isSuccess && result.text.contains("carrel \(words.joined(separator: " "))"))
        }
    }
}

extension Array {
    /// The element of an array of one.
    fileprivate var only: Element? { count == 1 ? self[0] : nil }
}
