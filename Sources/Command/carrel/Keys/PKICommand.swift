// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelFiles
import CarrelHTTP
import CarrelJSON
import Glibc

struct PKICommand: Command {
    static let name = "pki"
    static let abstract = "The certificate authority of devices, and the keys that sign licenses, revocations and the time."
    static let discussion = """
        Every environment of a home has its own. It is made when the database is first opened. Players, the personalised copies of apps, trust \
        its root.
        """
    static let subcommands: [any Command.Type] = [
        PKIInit.self, PKIShow.self, PKIRotate.self, PKIExportRoot.self, PKIImportRoot.self,
    ]
}

struct PKIInit: HomeCommand {
    var options = HomeOptions()

    static let name = "init"
    static let abstract = "Create a home with its certificate authority, and print the root's certificate."
    static let discussion = "An existing authority is left unchanged."

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options, creating: console).call(.get, "/admin/v1/pki")
        show(answer, as: answer["root"]?.string ?? "", console)
    }
}

struct PKIShow: HomeCommand {
    var options = HomeOptions()

    static let name = "show"
    static let abstract = "Show the keys, and until when they are valid."
    static let examples = [
        Example("carrel pki show --json | jq -r .root", "Prints the certificate of the root, which apps can pin.")
    ]

    func run(_ console: Console) async throws {
        let answer = try await call(.get, "/admin/v1/pki")
        if options.json { return console.print(answer) }
        let columns: ListColumns = [
            "USE": "use", "STATE": .text { $0["isCurrent"]?.bool == true ? "current" : "replaced" }, "ID": "id", "FROM": "from",
            "UNTIL": "until",
        ]
        console.print(columns.table(answer["keys"]))
        console.print("SHA-256 fingerprint of the root: \(answer["rootFingerprint"]?.string ?? "")")
        console.print(
            "environment \(answer["environment"]?.string ?? ""), list of revocations \(answer["revocations"]?.int ?? 0)"
        )
    }
}

struct PKIRotate: HomeCommand {
    var options = HomeOptions()
    var use = ""

    static let name = "rotate"
    static let abstract = "Replace a key."
    static let discussion = """
        USE is root, devices, license, agreement, revocation or time. What the old key signed stays valid, and players learn the new key when \
        they next contact the server. A new root is signed by the old one, so that players follow it.
        """
    static let examples = [Example("carrel pki rotate license", "New licenses are signed with a new key.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.use, "use", help: "The key's use.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let answer = try await call(.post, "/admin/v1/pki/rotate", ["use": .string(use)])
        show(answer, as: "\(use): new key \(answer["id"]?.string ?? "")", console)
    }
}
