// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelLCP
import CarrelPublication

extension Publication {
    private static let hintLimit = 300

    /// The way to open a publication that a missing or wrong passphrase keeps closed: the option, and the provider's hint at the passphrase. The
    /// signature of its license was checked before a passphrase was looked for.
    var adviceOnPassphrase: String? {
        guard let code = (protectionError as? OpeningError)?.code,
            [.credentialsRequired, .incorrectCredentials, .cancelled].contains(code)
        else {
            return nil
        }
        let hint = lcpLicense?.document.encryption.hint ?? ""
        let words = hint.count > Self.hintLimit ? "\(hint.prefix(Self.hintLimit))…" : hint
        return "give the passphrase with --passphrase" + (words.isEmpty ? "" : "; its provider's hint: \(words)")
    }

    /// A resource that could not be read because the publication is closed, as the program ends with it.
    func report(_ error: ResourceError, advice: String?) -> any Error {
        guard error.code == .forbidden, isRestricted, let advice else { return error }
        return ClosedResource(message: error.message, hint: advice)
    }
}

private struct ClosedResource: ReportableError {
    let message: String
    let hint: String?
    let exitStatus = ExitStatus.noPermission
}
