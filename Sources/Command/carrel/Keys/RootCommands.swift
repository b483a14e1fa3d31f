// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelFiles
import CarrelHTTP
import CarrelJSON
import Glibc

struct PKIExportRoot: HomeCommand {
    var options = HomeOptions()
    var file = ""
    var isRemoved = false

    static let name = "export-root"
    static let abstract = "Write the root's private key to a file, encrypted under a passphrase."
    static let discussion = """
        Reads the passphrase from standard input: one line, or typed on a terminal without being shown; at least 12 characters. Keep the file \
        and the passphrase away from the server and from each other: together they can sign for every device of this environment. The \
        server keeps its copy, unless --remove is given: then the file is read back, and the private keys of all roots are deleted from \
        the database. Without the root the service goes on; 'pki rotate' needs 'pki import-root' first. An existing file is not replaced.
        """
    static let examples = [
        Example("carrel pki export-root root.txt --remove", "Takes the root's private key away from the server.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "file", help: "The file to create (mode 0600)."),
            .flag(
                \.isRemoved,
                "--remove",
                help: "Delete the root's private key from the database when the file can be read back."
            ),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard unsafe access(file, F_OK) != 0 else { throw UsageError(.badValue, "\(file) exists: name another file") }
        let passphrase = try PasswordInput.read(console)
        let client = try await HomeClient(options)
        let answer = try await client.call(.post, "/admin/v1/pki/export-root", ["passphrase": .string(passphrase)])
        try DurableFile.replace(
            file,
            with: Array((answer["root"]?.string ?? "").utf8),
            keepsExisting: true,
            folderSync: .attempted
        )
        var isExpunged = true
        if isRemoved {
            let text = String(decoding: try SmallFile.read(file, limit: PKIImportRoot.limit), as: UTF8.self)
            let body: JSON = ["passphrase": .string(passphrase), "root": .string(text)]
            isExpunged = try await client.call(.post, "/admin/v1/pki/remove-root", body)["expunged"]?.bool ?? false
        }
        if !isExpunged {
            console.warning("the database's files still have the encrypted key: a running server removes it within minutes")
        }
        if options.json {
            return console.print(["file": .string(file), "removed": .bool(isRemoved), "expunged": .bool(isRemoved && isExpunged)])
        }
        console.print("the root is in \(file)")
        if isRemoved { console.note("the database has no private key of a root any longer; backups before now still have it") }
    }
}

struct PKIImportRoot: HomeCommand {
    var options = HomeOptions()
    var file = ""

    static let name = "import-root"
    static let abstract = "Read the root's private key from a file that 'pki export-root' wrote."
    static let discussion = """
        Reads the passphrase from standard input: one line, or typed on a terminal without being shown. A root that was taken away with \
        'pki export-root --remove' is back. A later root than the current one, which a restore lost, becomes the current one: it certifies \
        the authorities and signs the keys again, and the root before it signs it, so that devices of both follow.
        """
    static let examples = [Example("carrel pki import-root root.txt", "Brings back a root.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.file, "file", help: "A file that 'pki export-root' wrote.")] + Parameter.group(\.options)

    /// The largest file, in bytes.
    static let limit = 65_536

    func run(_ console: Console) async throws {
        let text = String(decoding: try SmallFile.read(file, limit: Self.limit), as: UTF8.self)
        let passphrase = try PasswordInput.read(console)
        let body: JSON = ["passphrase": .string(passphrase), "root": .string(text)]
        let answer = try await call(.post, "/admin/v1/pki/import-root", body)
        if options.json { return console.print(answer) }
        let id = answer["id"]?.string ?? ""
        console.print(answer["changed"]?.bool == true ? "the root \(id) is in use" : "the root \(id) was here already")
    }
}
