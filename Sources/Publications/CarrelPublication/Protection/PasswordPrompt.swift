// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Finds the password of a file that cannot be read without one: the one that is known, then those that the user types.
struct PasswordPrompt {
    /// The file's name.
    let name: String
    let sender: (any Sendable)?
    /// Nil if no dialog is allowed.
    let ask: OnAskCredentialsCallback?

    /// - Parameters:
    ///   - known: a known password, tried first.
    ///   - open: returns the opened content, or nil if the password is wrong.
    /// - Returns: the right password and the opened content.
    /// - Throws: `opening.credentials-required` and `opening.incorrect-credentials` if no dialog is allowed, `opening.cancelled`
    ///   if the user cancels.
    func unlock<Opened>(
        _ known: String?,
        _ open: (String) async throws(ResourceError) -> Opened?
    ) async throws(Publication.OpeningError) -> (String, Opened) {
        var word = known
        var message = LocalizedString("\(name) is protected by a password.")
        while true {
            if let word {
                do throws(ResourceError) {
                    if let opened = try await open(word) { return (word, opened) }
                } catch {
                    throw Publication.OpeningError(error)
                }
                message = LocalizedString("That is not the password of \(name).")
            }
            guard let ask else {
                guard word != nil else { throw Publication.OpeningError(.credentialsRequired, "it needs a password") }
                throw Publication.OpeningError(.incorrectCredentials, "the password is wrong")
            }
            word = await ask(Dialog(title: "Password", message: message), sender)
            if word == nil { throw Publication.OpeningError(.cancelled, "nobody gave the password") }
        }
    }
}

/// The protection of a file by a password that was given.
final class PasswordProtectionService: ContentProtectionService {
    let isRestricted = false
    let credentials: String?
    let rights: any UserRights
    let name: LocalizedString? = "Password"

    init(credentials: String?, rights: any UserRights) {
        self.credentials = credentials
        self.rights = rights
    }
}
