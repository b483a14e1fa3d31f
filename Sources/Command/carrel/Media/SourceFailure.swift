// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelMediaSource
import CarrelProxy

/// A source that the proxy does not play, in the words of the command line.
struct SourceFailure: ReportableError {
    private let error: ProxyError

    init(_ error: ProxyError) {
        self.error = error
    }

    /// Whether the source is protected, and its key is not there.
    var lacksKey: Bool { error.code == .missingKey || error.code == .refusedKey }

    /// Whether the failure is of its key.
    var isOfKey: Bool { [.missingKey, .refusedKey, .expiredKey].contains(error.code) }

    /// The code of the failure, as ``reportedCode`` has it.
    var code: String { error.code.identifier }

    var message: String { error.message }

    var hint: String? {
        switch error.code {
        case .missingKey: "pass its key with --keys or --key"
        case .refusedKey where error.message.contains("rights"): error.hint
        case .refusedKey: "pass its key with --keys or --key, or allow the address of its key server"
        case .clearContent: "play it without the proxy, or use --policy open"
        case .missing: "check the path or the address"
        default: error.hint
        }
    }

    var exitStatus: ExitStatus { error.exitStatus }
    var reportedCode: String? { code }
}
