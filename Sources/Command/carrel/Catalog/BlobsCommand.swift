// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelFiles
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelThreads
import Glibc

struct BlobsCommand: Command {
    static let name = "blobs"
    static let abstract = "Check and repair the media."
    static let subcommands: [any Command.Type] = [BlobsCheck.self]
}

struct BlobsCheck: HomeCommand {
    var options = HomeOptions()
    var source: String?

    static let name = "check"
    static let abstract = "Compare every blob with its digest, and repair damaged ones from a copy."
    static let discussion = """
        Reads all media, covers and samples of the home, also while a server runs, and lists the titles whose files are damaged or missing. \
        A repaired file is served within a minute. Exits with status 65 if damage remains.
        """
    static let examples = [
        Example("carrel blobs check", "Lists damaged titles."),
        Example("carrel blobs check --mend-from /mnt/backup/blobs", "Repairs them from a backup of the folder blobs."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(
                \.source,
                "--mend-from",
                value: "folder",
                help: "Another blobs folder; its intact copies replace damaged or missing files."
            )
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        if let source, unsafe access(source, R_OK | X_OK) != 0 {
            throw ServerError(.notFound, "\(source) cannot be read: \(systemReason())")
        }
        let home = try options.find()
        let titles = try await titles()
        let check = BlobCheck(store: try DirectoryBlobStore(path: home.blobsPath), source: source)
        let named = Set(titles.flatMap { title in title.blobs.map { $0.id } })
        let findings = try await BlockingThreadPool(name: "blob-check", count: 1).run { try check.run(named, console) }
        let damaged = findings.faults.map { fault in
            Damage(fault: fault, uses: titles.filter { title in title.blobs.contains { $0.id == fault.id } })
        }
        if options.json { print(findings, damaged, console) } else { tell(findings, damaged, console) }
        let left = damaged.filter { !$0.fault.isMended }.count
        if left > 0 { throw DamagedBlobs(count: left) }
    }

    /// A damaged or missing blob, with the titles that need it.
    private struct Damage {
        let fault: BlobCheck.Fault
        let uses: [Title]
    }

    /// A title with the names of its blobs.
    private struct Title {
        let id: String
        let name: String
        let product: String?
        let blobs: [(role: String, id: BlobID)]

        func role(of blob: BlobID) -> String { blobs.first { $0.id == blob }?.role ?? "" }
    }

    private func titles() async throws -> [Title] {
        let titles = try await HomeClient(options).pages("/admin/v1/blobs", "titles")["titles"]?.array ?? []
        return titles.map { title in
            Title(
                id: title["id"]?.string ?? "",
                name: title["title"]?.string ?? "",
                product: title["productId"]?.string,
                blobs: (title["blobs"]?.object ?? [:]).compactMap { role, id in BlobID(id.string ?? "").map { (role, $0) } }
            )
        }
    }

    private func print(_ findings: BlobCheck.Findings, _ damaged: [Damage], _ console: Console) {
        let list = damaged.map { one -> JSON in
            let titles = one.uses.map { title -> JSON in
                [
                    "id": .string(title.id), "title": .string(title.name),
                    "productId": title.product.map { JSON.string($0) } ?? .null, "use": .string(title.role(of: one.fault.id)),
                ]
            }
            return [
                "blob": .string(one.fault.id.text), "state": .string(one.fault.state.rawValue),
                "mended": .bool(one.fault.isMended), "titles": .array(titles),
            ]
        }
        console.print([
            "blobs": .integer(Int64(findings.count)), "bytes": .integer(findings.byteCount), "damaged": .array(list),
        ])
    }

    private func tell(_ findings: BlobCheck.Findings, _ damaged: [Damage], _ console: Console) {
        console.print("\(findings.count) \(findings.count == 1 ? "blob" : "blobs"), \(damaged.count) damaged or missing")
        guard !damaged.isEmpty else { return }
        var table = TextTable(["STATE", "USE", "TITLE", "PRODUCT", "BLOB"])
        for one in damaged {
            let state = one.fault.state.rawValue + (one.fault.isMended ? ", mended" : "")
            if one.uses.isEmpty { table.add([state, "unused", "", "", one.fault.id.text]) }
            for title in one.uses {
                table.add([state, title.role(of: one.fault.id), title.name, title.product ?? "", one.fault.id.text])
            }
        }
        console.print(table)
    }
}

/// Damaged blobs were found and not mended.
struct DamagedBlobs: ReportableError {
    let count: Int

    var message: String { count == 1 ? "1 blob is damaged or missing" : "\(count) blobs are damaged or missing" }
    var hint: String? { "--mend-from repairs them from another blobs folder, such as that of a backup" }
    var exitStatus: ExitStatus { .badInput }
}
