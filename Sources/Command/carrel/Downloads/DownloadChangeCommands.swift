// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads
import CarrelJSON

// Commands that change the queue. The vault stays closed, and another process that transfers notices within a second.

struct DownloadPause: Command {
    var options = DownloadFolderOptions()
    var names = DownloadNames()

    static let name = "pause"
    static let abstract = "Pause downloads until they are resumed."
    static let parameters: [Parameter<Self>] = Parameter.group(\.names) + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }
    func validate() throws(UsageError) { try names.check() }

    func run(_ console: Console) async throws {
        try await options.change(names, console, where: { !$0.state.isFinal }) { try await $0.pause($1.id) }
    }
}

struct DownloadResume: Command {
    var options = DownloadFolderOptions()
    var names = DownloadNames()

    static let name = "resume"
    static let abstract = "Put paused and failed downloads into the queue again; 'carrel download run' saves them."
    static let parameters: [Parameter<Self>] = Parameter.group(\.names) + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }
    func validate() throws(UsageError) { try names.check() }

    func run(_ console: Console) async throws {
        try await options.change(names, console, where: { $0.state == .paused || $0.state == .failed }) {
            try await $0.resume($1.id)
        }
    }
}

struct DownloadCancel: Command {
    var options = DownloadFolderOptions()
    var names = DownloadNames()

    static let name = "cancel"
    static let abstract = "Stop downloads that are not complete, and remove their files and keys."
    static let parameters: [Parameter<Self>] = Parameter.group(\.names) + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }
    func validate() throws(UsageError) { try names.check() }

    func run(_ console: Console) async throws {
        try await options.remove(names, console, "canceled", where: { $0.state != .completed && $0.state != .expired }) {
            try await $0.cancel($1.id)
        }
    }
}

struct DownloadDelete: Command {
    var options = DownloadFolderOptions()
    var names = DownloadNames()
    var givesBack = false

    static let name = "delete"
    static let abstract = "Remove downloads with their files and keys."
    static let discussion = """
        Works without a network, on a full disk, and while the vault is locked: a license is then removed when the vault is opened next. The \
        license of another download stays.
        """
    static let parameters: [Parameter<Self>] =
        Parameter.group(\.names) + [
            .flag(\.givesBack, "--give-back", help: "Also return the licenses to the service, now or at the next contact.")
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }
    func validate() throws(UsageError) { try names.check() }

    func run(_ console: Console) async throws {
        let givesBack = givesBack
        try await options.remove(names, console, "deleted") { try await $0.delete($1.id, givesBack: givesBack) }
    }
}

struct DownloadRenew: Command {
    var queue = DownloadQueueOptions()
    var names = DownloadNames()

    static let name = "renew"
    static let abstract = "Renew the keys of downloads; media are not fetched again."
    static let parameters: [Parameter<Self>] = Parameter.group(\.names) + Parameter.group(\.queue)

    var output: OutputOptions { queue.output }
    func validate() throws(UsageError) { try names.check() }

    func run(_ console: Console) async throws {
        try await queue.use(console) { downloads, _ in
            let items = try await names.items(in: downloads) { $0.state == .completed || $0.state == .expired }
            var failure: (any Error)?
            for item in items {
                do {
                    let renewed = try await downloads.renew(item.id)
                    if queue.json { console.printLine(renewed.json) } else { console.print(DownloadBoard.line(renewed)) }
                } catch {
                    // the others are renewed all the same
                    guard items.count > 1 else { throw error }
                    console.warning("\(item.title): \((error as? any ReportableError)?.message ?? "\(error)")")
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }
}

struct DownloadSet: Command {
    var options = DownloadFolderOptions()
    var names = DownloadNames()
    var priority: Int?
    var isPinned = false
    var isUnpinned = false
    var limits = LimitOptions()
    var requirements = RequirementOptions()
    var items: Int?
    var quota: ByteCount?
    var evicts: Toggle?

    /// Whether something is on.
    enum Toggle: String, CaseIterable, Sendable, TextValue { case on, off }

    static let name = "set"
    static let abstract = "Change the priority, the limits or the conditions of downloads, or the limits of all together."
    static let discussion = """
        With an id, the options are for that download; --limit-rate and --connections without an id, and --items, --quota and --evict are for all \
        downloads together. Running transfers follow within a second.
        """
    static let examples = [
        Example("carrel download set --limit-rate 2MB", "Limits all downloads together."),
        Example("carrel download set 'Big Film' --priority 10 --pin", "Starts a download before others, and keeps it."),
    ]
    static let parameters: [Parameter<Self>] =
        Parameter.group(\.names) + [
            .option(\.priority, "--priority", help: "Downloads of a higher priority start first.", group: "Queue"),
            .flag(\.isPinned, "--pin", help: "Never evict the download.", group: "Queue"),
            .flag(\.isUnpinned, "--unpin", help: "Allow its eviction again.", group: "Queue"),
        ] + Parameter.group(\.limits) + Parameter.group(\.requirements) + [
            .option(\.items, "--items", help: "Downloads at a time.", group: "All downloads", allowed: .range(1...64)),
            .option(
                \.quota,
                "--quota",
                help: "Bytes of all downloads at most; 0 for no limit but the disk.",
                group: "All downloads"
            ),
            .option(
                \.evicts,
                "--evict",
                help: "Whether complete downloads that are not pinned are removed to make room, the least recently used first.",
                group: "All downloads"
            ),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }

    private var changesItems: Bool { priority != nil || isPinned || isUnpinned || !requirements.isEmpty }
    private var changesQueue: Bool { items != nil || quota != nil || evicts != nil }

    func validate() throws(UsageError) {
        let hasNames = names.isAll || !names.names.isEmpty
        if hasNames { try names.check() }
        guard !isPinned || !isUnpinned else { throw UsageError(.contradiction, "--pin and --unpin exclude each other") }
        guard changesItems || changesQueue || !limits.isEmpty else {
            throw UsageError(.missingArgument, "there is nothing to set: name an option")
        }
        guard hasNames || !changesItems else {
            throw UsageError(.missingArgument, "--priority, --pin and conditions need the id of a download, or --all")
        }
        guard !hasNames || !changesQueue else {
            throw UsageError(.contradiction, "--items, --quota and --evict are for all downloads together: leave the ids out")
        }
    }

    func run(_ console: Console) async throws {
        guard names.isAll || !names.names.isEmpty else { return try await setQueue(console) }
        try await options.change(names, console) { downloads, item in
            if let priority { try await downloads.setPriority(priority, of: item.id) }
            if isPinned || isUnpinned { try await downloads.setPinned(isPinned, of: item.id) }
            if !limits.isEmpty { try await downloads.setLimits(limits.limits, of: item.id) }
            if !requirements.isEmpty { try await downloads.setRequirements(requirements.requirements, of: item.id) }
        }
    }

    private func setQueue(_ console: Console) async throws {
        try await options.use { downloads in
            var all = try await downloads.queueLimits()
            if let rate = limits.rate { all.transfers.bytesPerSecond = Int(clamping: rate.bytes) }
            if let connections = limits.connections { all.transfers.connections = connections }
            if let items { all.items = items }
            if let quota { all.quota = quota.bytes > 0 ? quota.bytes : nil }
            if let evicts { all.evicts = evicts == .on }
            try await downloads.setQueueLimits(all)
            guard output.json else { return console.note("the limits of all downloads are set") }
            console.printLine(
                [
                    "limitRate": all.transfers.bytesPerSecond.map { .integer($0) } ?? .null,
                    "connections": all.transfers.connections.map { .integer($0) } ?? .null, "items": .integer(all.items),
                    "quota": all.quota.map { .integer($0) } ?? .null, "evict": .bool(all.evicts),
                ]
            )
        }
    }
}

extension DownloadFolderOptions {
    /// Changes items, and prints the state of each afterwards.
    fileprivate func change(
        _ names: DownloadNames,
        _ console: Console,
        where fits: (DownloadItem) -> Bool = { _ in true },
        _ body: (Downloads, DownloadItem) async throws -> Void
    ) async throws {
        try await use { downloads in
            for item in try await names.items(in: downloads, where: fits) {
                try await body(downloads, item)
                let changed = try await downloads.item(item.id)
                if folder.json { console.printLine(changed.json) } else { console.print(DownloadBoard.line(changed)) }
            }
        }
    }

    /// Removes items, and prints their ids.
    fileprivate func remove(
        _ names: DownloadNames,
        _ console: Console,
        _ word: String,
        where fits: (DownloadItem) -> Bool = { _ in true },
        _ body: (Downloads, DownloadItem) async throws -> Void
    ) async throws {
        try await use { downloads in
            for item in try await names.items(in: downloads, where: fits) {
                try await body(downloads, item)
                guard folder.json else {
                    console.print("\(item.id)  \(word): \(item.title.printable)")
                    continue
                }
                var object = item.json.object ?? JSONObject()
                object["state"] = "removing"
                console.printLine(.object(object))
            }
        }
    }
}
