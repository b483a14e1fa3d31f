// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCommandLine
package import CarrelContentKeys
package import CarrelDownloads

/// The exit statuses of failures that scripts tell apart, in addition to `sysexits.h`.
extension ExitStatus {
    /// The status of an error by its code; nil for a code without a status of its own.
    ///
    /// - Parameter code: the identifier of a coded error.
    init?(code: String) {
        guard let status = Self.statuses[code] else { return nil }
        self = status
    }

    private static let statuses: [String: ExitStatus] = [
        "keys.expired": .licenseExpired, "proxy.expired-key": .licenseExpired, "download.expired": .licenseExpired,
        "keys.clock": .clockSetBack, "proxy.clock": .clockSetBack,
        "download.vault": .vaultLocked, "vault.locked": .vaultLocked, "vault.pin": .vaultLocked, "vault.refused": .vaultLocked,
        "saved.missing": .savedMissing, "proxy.saved-missing": .savedMissing,
        "saved.damaged": .savedDamaged, "proxy.saved-damaged": .savedDamaged, "saved.format": .savedDamaged,
        "download.damaged": .savedDamaged,
        "saved.sealed": .noPermission, "proxy.saved-sealed": .noPermission, "player.fingerprint": .noPermission,
        "saved.disk-full": .cannotCreate, "download.disk-full": .cannotCreate, "download.quota": .cannotCreate,
        "saved.disk": .inputOutput, "download.disk": .inputOutput, "download.journal": .inputOutput,
        "download.usage": .usage, "download.selection": .usage,
        "download.unknown": .noInput, "download.gone": .noInput, "proxy.missing": .noInput,
        "download.state": .tryAgain, "download.busy": .tryAgain, "download.unavailable": .tryAgain, "keys.network": .tryAgain,
        "download.unauthorized": .noPermission, "download.key": .noPermission, "download.address": .noPermission,
        "download.not-storable": .noPermission, "keys.refused": .noPermission, "keys.missing": .noPermission,
        "keys.other-service": .noPermission, "keys.certificate": .noPermission,
        "download.live": .badInput, "download.source": .badInput, "download.changed": .badInput, "keys.unplayable": .badInput,
    ]

    /// The remedy for an error by its code; nil if the message says it.
    ///
    /// - Parameter code: the identifier of a coded error.
    /// - Returns: a lower-case phrase.
    static func hint(code: String) -> String? { hints[code] }

    private static let hints: [String: String] = [
        "keys.expired": "renew it while its server can be reached: 'carrel download renew ID'",
        "proxy.expired-key": "renew it while its server can be reached: 'carrel download renew ID'",
        "download.expired": "renew it while its server can be reached: 'carrel download renew ID'",
        "keys.clock": "set the clock of this machine right, or renew while the server can be reached",
        "proxy.clock": "set the clock of this machine right, or renew while the server can be reached",
        "proxy.saved-missing": "save the rest with 'carrel download run'",
        "saved.missing": "save the rest with 'carrel download run'",
        "proxy.saved-damaged": "delete the download, and add it again",
        "saved.damaged": "delete the download, and add it again",
        "saved.format": "delete the download, and add it again",
        "download.damaged": "delete the download, and add it again",
        "proxy.saved-sealed": "the keys of this download are in the folder in which it was saved",
        "saved.sealed": "the keys of this download are in the folder in which it was saved",
        "player.fingerprint": "a folder is bound to its machine: save the stream again in a folder of this one",
        "download.disk-full": "free some space, then continue with 'carrel download resume ID'",
        "download.quota": "delete downloads, or raise --quota with 'carrel download set'",
        "download.unauthorized": "add the source again with its present address, --token or --header",
        "download.unavailable": "check the network, then continue with 'carrel download resume ID'",
        "download.gone": "check the address of the source",
        "download.address":
            "allow plain http with --allow-http, or private networks with --allow-private-networks, if you trust the source",
        "download.live": "a live stream can be played with 'carrel play', and saved when it has ended",
        "download.key": "get a license for the stream: pass its token with --token, or personalize this device",
        "download.selection": "look at the tracks with 'carrel play SOURCE --print-url --json'",
        "download.changed": "delete the download, and add it again",
        "download.unknown": "see 'carrel download list'",
        "download.vault":
            "set \(VaultOptions.passphraseVariable) or run this command on a terminal, in the folder and on the machine of the vault",
        "keys.unplayable": "only Apple's own module opens FairPlay keys",
    ]
}

extension DownloadError: ReportableError {
    package var hint: String? { ExitStatus.hint(code: code.identifier) }
    package var exitStatus: ExitStatus { ExitStatus(code: code.identifier) ?? .failure }
}

extension StreamListError: ReportableError {
    package var hint: String? {
        code == .insecure ? "use https, set allowInsecure in the entry, or pass --allow-http" : recommendation
    }
    package var exitStatus: ExitStatus {
        switch code {
        case .insecure: .noPermission
        default: .badInput
        }
    }
}

/// An item that failed, in the words of its error.
struct FailedDownload: ReportableError {
    let item: DownloadItem

    var message: String { "\(item.title): \(item.message ?? "the download failed")" }
    var hint: String? {
        ExitStatus.hint(code: item.reason ?? "")
            ?? (item.isRetryable ? "continue with 'carrel download resume \(item.id)' and 'carrel download run'" : nil)
    }
    var exitStatus: ExitStatus { ExitStatus(code: item.reason ?? "") ?? .failure }
    var reportedCode: String? { item.reason }
}

/// An item whose transfer was stopped by a person.
struct StoppedDownload: ReportableError {
    let title: String
    let state: String

    var message: String { "\(title): the download was \(state)" }
    var hint: String? { state == "paused" ? "continue with 'carrel download resume'" : nil }
    var exitStatus: ExitStatus { .tryAgain }
    var reportedCode: String? { "download.state" }
}
