// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Publications at the command line, as scripts rely on it.
struct `Opening a publication at the command line` {
    private let directory = TemporaryDirectory()

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments, timeout: .seconds(60))
    }

    @Test func `says what it is and gives what is in it`() async throws {
        let zip = try requirePeer("zip")
        directory.write("1.png", [1, 2, 3, 4, 5])
        directory.write("2.png", [6])
        try await checkProcess([zip, "-q", "Tale.cbz", "1.png", "2.png"], directory: directory.path)
        let opened = try await carrel("open", directory.file("Tale.cbz"), "--json")
        #expect(opened.status == .exited(0))
        let answer = try JSON.parse(opened.output.rawSpan)
        #expect(answer["format"]?.string == "application/vnd.comicbook+zip")
        #expect(answer["protection"] == .null)
        #expect(answer["isRestricted"]?.bool == false)
        #expect(answer["metadata"]?["title"]?.string == "Tale")
        #expect(answer["rights"]?["canCopy"]?.bool == true)
        #expect(answer["rights"]?["charactersLeft"] == .null && answer["rights"]?["pagesLeft"] == .null)
        #expect(answer["readingOrder"]?.array?.compactMap(\.string) == ["1.png", "2.png"])
        let table = try await carrel("open", directory.file("Tale.cbz"))
        #expect(table.text.hasPrefix("title "), "no empty line comes first")
        let part = try await carrel("cat", directory.file("Tale.cbz"), "1.png", "--range", "1-2")
        #expect(part.output == [2, 3])
        let none = try await carrel("cat", directory.file("Tale.cbz"), "3.png")
        #expect(none.status == .exited(66))
        #expect(none.errorText.contains("3.png"))
        let manifest = try await carrel("manifest", directory.file("Tale.cbz"))
        #expect(try JSON.parse(manifest.output.rawSpan)["readingOrder"]?.array?.count == 2)
    }

    @Test(arguments: ["book.epub", "book.pdf", "book.cbz"])
    func `refuses a picture with the name of a publication, and says what it is`(name: String) async throws {
        let path = directory.write(name, [0xff, 0xd8, 0xff, 0xe0] + [UInt8](repeating: 0, count: 100))
        let refused = try await carrel("open", path)
        #expect(refused.status == .exited(65) && refused.output.isEmpty)
        #expect(refused.errorText.contains("file of the type image/jpeg"), "\(refused.errorText)")
        let picture = directory.write("picture.jpg", [0xff, 0xd8, 0xff, 0xe0] + [UInt8](repeating: 0, count: 100))
        #expect(try await carrel("open", picture).status == .exited(0))
    }

    @Test func `ends as scripts expect where it cannot`() async throws {
        let tool = try requirePeer("7z")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "a.cbz", "1.png"], directory: directory.path)
        directory.write("broken.epub", Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 0, count: 64))
        for arguments in [["open", directory.file("a.cbz")], ["open", directory.file("a.cbz"), "--password", "guessed"]] {
            let refused = try await runProcess([DemoServer.program] + arguments + ["--json"], timeout: .seconds(60))
            #expect(refused.status == .exited(77))
            #expect(!refused.errorText.contains("guessed"))
        }
        let right = try await carrel("cat", directory.file("a.cbz"), "1.png", "--passphrase", "sesame")
        #expect(right.output == [1, 2, 3])
        #expect(try await carrel("open", directory.file("broken.epub"), "--json").status == .exited(65))
        #expect(try await carrel("open", directory.file("none.epub"), "--json").status == .exited(66))
        #expect(try await carrel("cat", directory.file("a.cbz"), "1.png", "--range", "5-1").status == .exited(64))
    }

    /// The input at the prompt, the exit status, and whether the terminal echoes again afterwards.
    @Test(
        arguments: [
            ("sesame\n", "exited 0"), ("guessed\nsesame\n", "exited 0"), ("\n", "exited 77"), ("ses\u{3}", "signal 2"),
            ("\u{1c}", "signal 2"),
        ]
    )
    func `asks for a password on the terminal and leaves it as it was`(typed: String, ended: String) async throws {
        let (tool, python) = (try requirePeer("7z"), try requirePeer("python3"))
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "a.cbz", "1.png"], directory: directory.path)
        let script = directory.write(
            "type.py",
            """
            import array, fcntl, os, pty, select, sys, termios
            child, terminal = pty.fork()
            if child == 0: os.execv(sys.argv[1], sys.argv[1:2] + ["open", sys.argv[2]])
            number = array.array("I", [0])
            fcntl.ioctl(terminal, 0x80045430, number)  # TIOCGPTN: which terminal it is
            kept = os.open("/dev/pts/%d" % number[0], os.O_RDWR | os.O_NOCTTY)
            shown, question, left, ended = b"", b"", sys.argv[3].encode(), 0
            while True:
                if not ended: ended, status = os.waitpid(child, os.WNOHANG)
                if select.select([terminal], [], [], 0.05)[0]:
                    got = os.read(terminal, 4096)
                    shown, question = shown + got, question + got
                elif ended: break
                # as a person does, once the question is there
                if left and question.endswith(b"> ") and not termios.tcgetattr(kept)[3] & termios.ECHO:
                    line, end, left = left.partition(b"\\n")
                    os.write(terminal, line + end)
                    question = b""
            print("exited %d" % os.WEXITSTATUS(status) if os.WIFEXITED(status) else "signal %d" % os.WTERMSIG(status))
            print(bool(termios.tcgetattr(kept)[3] & termios.ECHO), b"sesame" in shown)
            """
        )
        let result = try await runProcess(
            [python, script, DemoServer.program, directory.file("a.cbz"), typed],
            timeout: .seconds(60)
        )
        #expect(result.text == "\(ended)\nTrue False\n", "\(result.errorText)")
    }

    @Test func `never prompts without a terminal`() async throws {
        let tool = try requirePeer("7z")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "a.cbz", "1.png"], directory: directory.path)
        let refused = try await carrel("open", directory.file("a.cbz"))
        #expect(refused.status == .exited(77))
        #expect(refused.errorText.contains("--password"))
        #expect(refused.output == [])
    }
}
