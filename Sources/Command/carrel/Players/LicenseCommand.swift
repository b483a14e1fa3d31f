// SPDX-License-Identifier: Apache-2.0

import CarrelLCP
import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelLicensedPublications
import CarrelPlayer
import CarrelRights

extension LicenseAction: TextValue {}

struct LicenseCommand: Command {
    static let name = "license"
    static let abstract = "Licenses on this device: what may be played, and until when."
    static let subcommands: [any Command.Type] = [
        LicenseList.self, LicenseShow.self, LicenseEvaluate.self, LicenseRenew.self, LicenseRelease.self, LicenseRemove.self,
    ]
}

struct LicenseList: ReaderCommand {
    var engine = ReaderEngine()
    var tag: String?
    var lcp = LicenseOptions()

    static let name = "list"
    static let abstract = "List the licenses on this device, with those of Readium LCP."
    static let discussion = """
        A license is shown as revoked once the list of revocations on this device has it; 'carrel device update' fetches the newest list.
        """
    static let parameters: [Parameter<Self>] =
        [.option(\.tag, "--tag", value: "text", help: "Only licenses with this tag.")] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let tag = tag
        let (licenses, revoked) = try await engine.use(console) { engine in
            let store = try await engine.licenses()
            var (all, last): ([StoredLicense], String) = ([], "")
            while true {
                let page = try await store.licenses(tag: tag, after: last, limit: 1000)
                all += page
                guard page.count == 1000, let end = page.last?.id else { break }
                last = end
            }
            return (all, await Self.revoked(all, engine, console))
        }
        let known = tag == nil ? try await lcp.kept?.knownLicenses() ?? [] : []
        if engine.json {
            let own = licenses.map { Self.json($0, isRevoked: revoked.contains($0.id)) }
            let others = known.map { license -> JSON in
                [
                    "id": .string(license.id), "kind": "lcp", "provider": .string(license.provider),
                    "refusal": license.refusal.map { .string($0) } ?? .null,
                ]
            }
            return console.print(["licenses": .array(own + others)])
        }
        var table = TextTable(["ID", "CONTENT", "UNTIL", "PLAYS", "TAG"])
        for license in licenses {
            let until = revoked.contains(license.id) ? "revoked" : license.expiresAt?.description ?? "no end"
            table.add([license.id, license.contentIDs.first ?? "", until, String(license.plays), license.tag])
        }
        for license in known { table.add([license.id, "LCP, \(license.provider)", license.refusal ?? "", "", ""]) }
        console.print(table)
    }

    /// The IDs of revoked licenses; only a warning if the player's file cannot be read, because the list is still useful.
    private static func revoked(_ licenses: [StoredLicense], _ engine: PlayerEngine, _ console: Console) async -> Set<String> {
        do throws(PlayerError) {
            return try await engine.revokedLicenses(of: licenses.map(\.id))
        } catch {
            console.warning("it is not known which licenses are revoked: \(error.message)", hint: error.recommendation)
            return []
        }
    }

    static func json(_ license: StoredLicense, isRevoked: Bool) -> JSON {
        [
            "id": .string(license.id), "kind": "carrel", "content": .string(license.contentIDs.first ?? ""),
            "contents": .array(license.contentIDs.map { .string($0) }),
            "until": license.expiresAt.map { .string($0.description) } ?? .null, "priority": .integer(license.priority),
            "addedAt": .string(license.addedAt.description), "tag": .string(license.tag),
            "firstPlayedAt": license.firstPlayedAt.map { .string($0.description) } ?? .null,
            "plays": .integer(license.plays), "reportedPlays": .integer(license.reportedPlays),
            "revoked": .bool(isRevoked),
        ]
    }
}

struct LicenseShow: ReaderCommand {
    var engine = ReaderEngine()
    var license = ""

    static let name = "show"
    static let abstract = "Show a license as JSON; its keys are left out."
    static let parameters: [Parameter<Self>] =
        [.positional(\.license, "id", help: "The license's id.")] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let license = license
        let (stored, terms, isRevoked) = try await engine.use(console) { engine in
            guard let stored = try await engine.licenses().license(license) else {
                throw PlayerError(.noLicense, "there is no license \(license) on this device")
            }
            let isRevoked = try await !engine.revokedLicenses(of: [license]).isEmpty
            return (stored, try await engine.terms(of: license), isRevoked)
        }
        var object = LicenseList.json(stored, isRevoked: isRevoked).object ?? [:]
        for (name, value) in terms.object ?? [:] { object[name] = value }
        console.print(.object(object))
    }
}

struct LicenseEvaluate: ReaderCommand {
    var engine = ReaderEngine()
    var content = ""
    var action = LicenseAction.play
    var needsOpenOutput = false

    static let name = "evaluate"
    static let abstract = "Say whether the licenses on this device allow an action; nothing is counted."
    static let discussion = """
        It ends with 0 whether or not the action is allowed: the answer is in its output. A license may demand what a program must do: \
        'carrel proxy' does it for playback and for an export, 'carrel read' for a reading with its copies and prints.
        """
    static let examples = [
        Example("carrel license evaluate urn:marlin:kid:00112233445566778899aabbccddeeff --json", "Asks for playback.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.content, "content", help: "The content's id."),
            .option(\.action, "--action", help: "The use that is asked for."),
            .flag(
                \.needsOpenOutput,
                "--open-output",
                help: "For content that leaves the player as plain bytes, such as DCF files and books."
            ),
        ] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let (content, action, needsOpenOutput, enforced) = (content, action, needsOpenOutput, enforced)
        let decision = try await engine.use(console) { engine in
            await engine.meet(enforced)
            return try await engine.check(content, action: action, needsOpenOutput: needsOpenOutput)
        }
        let result = decision.result
        if engine.json {
            return console.print([
                "granted": .bool(result.isGranted), "reason": result.reason.map { .string($0.rawValue) } ?? .null,
                "obligations": .array(result.obligations.map(\.json)),
                "until": result.until.map { .string($0.description) } ?? .null,
                "secondsLeft": result.secondsLeft.map { .integer($0) } ?? .null,
                "kids": .array(result.usableKeyIDs.map { .string($0) }),
            ])
        }
        if let reason = result.reason { return console.print("not granted: \(reason.rawValue)") }
        console.print("granted by license \(decision.license ?? ""), \(result.until.map { "until \($0)" } ?? "without an end")")
        for obligation in result.obligations { console.print("obligation: \(obligation.type)") }
        for obligation in result.unmet { console.print("not met, and need not be: \(obligation.type)") }
    }

    /// The obligations that the command for the action enforces.
    private var enforced: Set<String> {
        let always: Set<String> = [Obligation.Kind.imageConstraint.rawValue, Obligation.Kind.attended.rawValue]
        return switch action {
        case .read, .copy, .print: always.union(LicensedContentProtection.shownRights)
        default: always
        }
    }
}

struct LicenseRenew: ReaderCommand {
    var engine = ReaderEngine()
    var license = ""

    static let name = "renew"
    static let abstract = "Renew a license, and tell the service how often it was played."
    static let parameters: [Parameter<Self>] =
        [.positional(\.license, "id", help: "The license's id.")] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let license = license
        let (stored, isRevoked) = try await engine.use(console) { engine in
            (try await engine.renew(license), try await !engine.revokedLicenses(of: [license]).isEmpty)
        }
        if engine.json { return console.print(LicenseList.json(stored, isRevoked: isRevoked)) }
        console.print("\(license): \(stored.expiresAt.map { "until \($0)" } ?? "without an end")")
    }
}

struct LicenseRelease: ReaderCommand {
    var engine = ReaderEngine()
    var license = ""

    static let name = "release"
    static let abstract = "Give a license back: it is removed here immediately, and the service is told."
    static let discussion = "Where the service cannot be reached, it is told at the next contact."
    static let parameters: [Parameter<Self>] =
        [.positional(\.license, "id", help: "The license's id.")] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let license = license
        let isKnown = try await engine.use(console) { try await $0.release(license) }
        if engine.json { return console.print(["license": .string(license), "reported": .bool(isKnown)]) }
        console.print(isKnown ? "\(license): given back" : "\(license): removed; the service is told at the next contact")
    }
}

struct LicenseRemove: ReaderCommand {
    var engine = ReaderEngine()
    var license: String?
    var removesExpired = false

    static let name = "remove"
    static let abstract = "Remove a license from this device without giving it back."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.license, "id", help: "The license's id."),
            .flag(\.removesExpired, "--expired", help: "Remove all licenses that have ended or were revoked."),
        ] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        guard (license != nil) != removesExpired else {
            throw UsageError(.badValue, "give the id of a license, or --expired")
        }
        let license = license
        let count = try await engine.use(console) { engine in
            guard let license else { return try await engine.expungeExpiredLicenses() }
            try await engine.removeLicense(license)
            return 1
        }
        if engine.json { return console.print(["removed": .integer(count)]) }
        console.print("removed: \(count)")
    }
}
