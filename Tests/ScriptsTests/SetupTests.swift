// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

struct `scripts/setup` {
    private static let tools = ["bash", "sh", "env", "dirname", "sed", "cut", "head", "grep", "xargs", "cat"]
    private static let swift = ["swift": "echo 'Swift version 6.3.1 (swift-6.3.1-RELEASE)'"]

    private func setup(_ name: String, _ path: FakePath) async throws -> ProcessResult {
        try await runProcess(["/usr/bin/env", "\(repository)/scripts/setup", name], environment: path.environment)
    }

    private func packages(_ name: String) async throws -> [String] {
        try await checkProcess(["\(repository)/scripts/setup", "--list", name]).split(separator: "\n").map(String.init)
    }

    /// A Debian on which everything but `missing` is installed.
    private func debian(without missing: String = "-", user: Int = 0, sudo: Bool = false) async throws -> FakePath {
        var fake = Self.swift
        fake["dpkg-query"] = """
            shift 3
            status=0
            for package; do if [ "$package" = "\(missing)" ]; then status=1; else echo "ii $package"; fi; done
            exit $status
            """
        fake["apt-get"] = ""
        fake["id"] = "echo \(user)"
        if sudo { fake["sudo"] = "exec \"$@\"" }
        return try await FakePath(real: Self.tools, fake: fake)
    }

    @Test func `names the libraries of Package.swift and the peers of each command, and no more`() async throws {
        let build = try await packages("build")
        #expect(build.contains("libssl-dev") && build.contains("libsqlite3-dev") && build.contains("pkg-config"))
        let run = Set(try await packages("run"))
        #expect(run.subtracting(build) == ["ffmpeg", "espeak-ng"])
        let test = Set(try await packages("test"))
        #expect(test.isSuperset(of: ["chromium-driver", "firefox-esr", "mpv", "postgresql", "gstreamer1.0-libav", "nginx"]))
        #expect(test.contains("python3-jsonschema"))
        #expect(!test.contains("wrk"))
        #expect(
            Set(try await packages("bench")).subtracting(run) == [
                "nginx", "wrk", "curl", "openssl", "python3", "procps", "unzip", "libxml2-utils",
                "python3-ebooklib", "python3-venv", "epubcheck", "postgresql",
            ]
        )
        #expect(try await packages("lint") == ["python3"])
    }

    @Test func `names every program that a test asks for`() async throws {
        let asked = try await checkProcess(["grep", "-rhoE", "requirePeer\\(\"[^\"]+\"", "\(repository)/Tests"])
            .split(separator: "\n").map { String($0.split(separator: "\"")[1]) }
        let script = try await checkProcess(["cat", "\(repository)/scripts/setup"])
        let known = script.split { " '\n".contains($0) }.filter { $0.hasPrefix("cmd:") }.map { String($0.dropFirst(4)) }
        // unshare comes with util-linux, ffprobe with ffmpeg, pg_dump with postgresql, pdftotext and pdfimages with pdftoppm,
        // strip with readelf, setsid with setpriv, the rest with every Debian; the shells are tried where they are (Tests/allowed-skips.txt)
        let others: Set = [
            "ffprobe", "pg_dump", "pdfimages", "pdftotext", "strip", "setsid", "sh", "gzip", "fish", "zsh", "groff", "unshare",
        ]
        #expect(known.count > 10)
        #expect(Set(asked).subtracting(known).subtracting(others) == [])
    }

    @Test func `does nothing where nothing is missing`() async throws {
        let path = try await debian()
        let result = try await setup("test", path)
        #expect(result.status.isSuccess && result.text == "" && result.errorText == "")
        #expect(!path.calls.contains { $0.hasPrefix("apt-get") })
    }

    @Test(arguments: [false, true])
    func `installs missing packages and reports them, as root or with sudo`(sudo: Bool) async throws {
        let path = try await debian(without: "espeak-ng", user: sudo ? 1000 : 0, sudo: sudo)
        let result = try await setup("run", path)
        #expect(result.status.isSuccess)
        #expect(result.errorText == "setup: installing: espeak-ng\nsetup: done\n")
        let calls = path.calls.filter { $0.hasPrefix("apt-get") }
        #expect(calls.count == 2 && calls[0].hasPrefix("apt-get update"))
        #expect(calls.last?.hasSuffix(" espeak-ng") == true && calls.last?.contains("--no-install-recommends") == true)
        #expect(path.calls.contains { $0.hasPrefix("sudo") } == sudo)
    }

    @Test func `says what to do where it may not install`() async throws {
        let result = try await setup("run", try await debian(without: "ffmpeg", user: 1000))
        #expect(result.status == .exited(69))
        #expect(result.errorText.contains("setup: hint: as root: apt-get install ffmpeg"))
    }

    @Test func `reports missing packages on another distribution, by Debian's names`() async throws {
        var fake = Self.swift
        fake["pkg-config"] = #"case "$2" in libcrypto) exit 1 ;; esac"#
        fake["ffmpeg"] = ""
        let path = try await FakePath(real: Self.tools, fake: fake)
        let result = try await setup("run", path)
        #expect(result.status == .exited(69))
        #expect(
            result.errorText.contains("this system is not Debian")
                && result.errorText.contains("missing, by Debian's names: libssl-dev espeak-ng\n")
        )
        fake["python3"] = ""
        let lint = try await setup("lint", FakePath(real: Self.tools, fake: fake))
        #expect(lint.status.isSuccess)
    }

    @Test(arguments: [
        (nil, "no swift is on the PATH"), ("echo 'Swift version 6.2.4 (swift-6.2.4-RELEASE)'", "this is 6.2"),
        ("echo 'Swift version 5.10'", "this is 5.10"), ("exit 1", "does not tell its version"),
    ])
    func `says so without a new enough Swift`(swift: String?, words: String) async throws {
        let path = try await FakePath(real: Self.tools, fake: swift.map { ["swift": $0] } ?? [:])
        let result = try await setup("build", path)
        #expect(result.status == .exited(69))
        #expect(result.errorText.contains(words) && result.errorText.contains("swift.org/install/linux"))
    }

    @Test func `an unknown command is refused`() async throws {
        let result = try await setup("everything", try await debian())
        #expect(result.status == .exited(69))
        #expect(result.errorText.contains("no command is called 'everything'"))
    }
}
