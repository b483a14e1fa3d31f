// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

struct `Completions` {
    @Test(arguments: [
        ("", "add,order,fail,help,completions"),
        ("ord", "order"),
        ("order |", "create,list"),
        ("order cr", "create"),
        ("order create --u", "--until"),
        ("order create |", ""),
        ("add --k", "--kind"),
        ("add --kind |", "audiobook,ebook"),
        ("add --kind e", "ebook"),
        ("add --kind = e", "ebook"),
        ("add --kind =", "audiobook,ebook"),
        ("add -k a", "audiobook"),
        ("add order cr", ""),
        ("completions f", "fish"),
    ])
    func `bash offers what may come next`(line: String, offered: String) async throws {
        let directory = TemporaryDirectory()
        directory.write("shelf.bash", await shelf(["completions", "bash"]).results)
        let words = line.replacing("|", with: "''")
        let script = """
            source ./shelf.bash
            COMP_WORDS=(shelf \(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            [ $COMP_CWORD -gt 0 ] || { COMP_WORDS+=(''); COMP_CWORD=1; }
            _shelf
            IFS=,; printf '%s' "${COMPREPLY[*]}"
            """
        let text = try await checkProcess(["bash", "--norc", "-c", script], directory: directory.path)
        #expect(text == offered)
    }

    @Test func `bash offers files and folders where they are meant, whatever they are called`() async throws {
        let directory = TemporaryDirectory()
        directory.write("shelf.bash", await shelf(["completions", "bash"]).results)
        directory.write("a tale.mp3", "")
        try await checkProcess(["mkdir", "an attic"], directory: directory.path)
        let script = """
            source ./shelf.bash
            COMP_WORDS=(shelf add a); COMP_CWORD=2; _shelf; printf '%s\n' "${COMPREPLY[@]}" | sort
            COMP_WORDS=(shelf add --home a); COMP_CWORD=3; _shelf; printf '%s\n' "${COMPREPLY[@]}"
            """
        let text = try await checkProcess(["bash", "--norc", "-c", script], directory: directory.path)
        #expect(text == "a tale.mp3\nan attic\nan attic\n")
    }

    @Test(arguments: [
        ("shelf order ", "create,list"), ("shelf order cr", "create"), ("shelf add --ki", "--kind"),
        ("shelf add --kind ", "audiobook,ebook"),
        ("shelf order create someone --u", "--until"), ("shelf completions z", "zsh"),
    ])
    func `fish offers what may come next`(line: String, offered: String) async throws {
        let fish = try requirePeer("fish")
        let directory = TemporaryDirectory()
        directory.write("shelf.fish", await shelf(["completions", "fish"]).results)
        let script = "source shelf.fish; complete -C '\(line)'"
        let text = try await checkProcess(
            [fish, "--no-config", "-c", script],
            environment: ["HOME": directory.path, "PATH": "/usr/bin:/bin"],
            directory: directory.path
        )
        #expect(text.split(separator: "\n").map { $0.split(separator: "\t")[0] }.sorted().joined(separator: ",") == offered)
    }

    @Test func `zsh knows every command's function`() async throws {
        let zsh = try requirePeer("zsh")
        let directory = TemporaryDirectory()
        directory.write("shelf.zsh", await shelf(["completions", "zsh"]).results)
        let script =
            "autoload -U compinit; compinit -u -D; source ./shelf.zsh; print $_comps[shelf] $+functions[_shelf_order_create]"
        let text = try await checkProcess([zsh, "-f", "-c", script], directory: directory.path)
        #expect(text == "_shelf 1\n")
    }
}
