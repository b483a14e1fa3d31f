// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelCrypto
import CarrelJSON
import CarrelLCP
import CarrelPublication
import Glibc

struct LCPCommand: Command {
    static let name = "lcp"
    static let abstract = "Licenses of Readium LCP."
    static let subcommands: [any Command.Type] = [LCPCheck.self]
}

struct LCPCheck: Command {
    var file = ""
    var passphrase: String?
    var licenses = LicenseOptions()
    var registers = false
    var renews = false
    var givesBack = false
    var revocationList: String?
    var output = OutputOptions()

    static let name = "check"
    static let abstract = "Check a license, and the publication around it, as the public compliance tests of LCP do."
    static let discussion = """
        Prints each check with its result; license.revocation-kept concerns the cached lists of revoked certificates from \
        earlier openings. Exits with status 65 if a check fails. The publication is not changed, and \
        no device is registered without --register. Passing the checks does not make a product certified.
        """
    static let examples = [
        Example("carrel lcp check book.epub --passphrase 'open sesame'", "Checks license, links, status and package."),
        Example("carrel lcp check book.lcpl --offline --json", "Checks a license alone, without its servers."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "file", help: "A license, or a publication with one in it."),
            .option(
                \.passphrase,
                "--passphrase",
                value: "text",
                help: "The license's passphrase. Other users of this machine can see it; default: ask on the terminal.",
                group: "Protection"
            ),
            .option(
                \.revocationList,
                "--crl",
                value: "file|url",
                help: "A list of revoked certificates (PEM or DER), in addition to those named by the provider's certificate.",
                group: "Protection",
                completion: .file
            ),
            .flag(\.registers, "--register", help: "Also register a device at the license server.", group: "Protection"),
            .flag(\.renews, "--renew", help: "Also renew the license at the license server.", group: "Protection"),
            .flag(
                \.givesBack,
                "--return",
                help: "Also return the license: it cannot be used afterwards.",
                group: "Protection"
            ),
        ] + Parameter.group(\.licenses) + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        var checker = ComplianceChecker(client: licenses.client)
        checker.profiles = try licenses.profiles()
        checker.passphrase = passphrase
        if passphrase == nil, !output.json, isatty(STDERR_FILENO) == 1 {
            let message = LocalizedString("For \(file). Without a passphrase the keys are not checked.")
            checker.passphrase = await TerminalDialog.ask(Dialog(title: "Passphrase", message: message), nil)
        }
        checker.isOffline = licenses.isOffline
        checker.registers = registers
        checker.renews = renews
        checker.givesBack = givesBack
        if let revocationList {
            if revocationList.hasPrefix("http://") || revocationList.hasPrefix("https://") {
                checker.revocationListAddresses = [revocationList]
            } else {
                let bytes = try LicenseOptions.read(revocationList, atMost: RevocationList.maxByteCount)
                do throws(CryptoError) { checker.revocationLists = [try RevocationList(bytes)] } catch {
                    throw UnusableList(path: revocationList)
                }
            }
        }
        let store = licenses.kept
        checker.store = store
        let checks: [ComplianceCheck]
        do { checks = try await checker.check(PublicationAsset(path: file)) } catch {
            await store?.close()
            throw error
        }
        await store?.close()
        let failures = checks.count { if case .failed = $0.outcome { true } else { false } }
        if output.json {
            console.print(["isCompliant": .bool(failures == 0), "checks": .array(checks.map(Self.json))])
        } else {
            var table = TextTable(["CHECK", "RESULT", "WHY"])
            for check in checks {
                let (result, reason) = Self.words(check.outcome)
                table.add([check.name, result, reason])
            }
            console.print(table)
        }
        guard failures == 0 else { throw FailedChecks(count: failures) }
    }

    private static func json(_ check: ComplianceCheck) -> JSON {
        let (result, reason) = words(check.outcome)
        return ["name": .string(check.name), "result": .string(result), "reason": reason.isEmpty ? .null : .string(reason)]
    }

    private static func words(_ outcome: ComplianceCheck.Outcome) -> (result: String, reason: String) {
        switch outcome {
        case .passed: ("passed", "")
        case .failed(let reason): ("failed", reason)
        case .skipped(let reason): ("skipped", reason)
        }
    }
}

/// The error for a file that is not a list of revoked certificates.
private struct UnusableList: ReportableError {
    let path: String

    var message: String { "\(path) is not a list of revoked certificates" }
    var exitStatus: ExitStatus { .badInput }
}

/// Answers that are not right.
private struct FailedChecks: ReportableError {
    let count: Int

    var message: String { count == 1 ? "one check failed" : "\(count) checks failed" }
    var exitStatus: ExitStatus { .badInput }
}
