// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPDF

/// PDF documents that are encrypted with a password (revisions 2 to 6), the user's or the owner's.
///
/// Without the password nothing can be read, and the publication is restricted; if the user's password is empty, only permissions
/// apply. The document is decrypted once, into an unnamed file.
struct PDFPasswordProtection: ContentProtection {
    /// The effect of a password on a document.
    private enum Trial: Sendable {
        case isNotEncrypted
        case opens(PDFEncryption)
        case isWrong
        /// No password is requested: another technology encrypted the document.
        case isForeign
    }

    /// A document's password and its decrypted file.
    private struct Unlocked: Sendable {
        let password: String
        let encryption: PDFEncryption

        init(_ password: String, _ encryption: PDFEncryption) {
            self.password = password
            self.encryption = encryption
        }
    }

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        let prompt = PasswordPrompt(name: asset.name, sender: sender, ask: allowUserInteraction ? onAskCredentials : nil)
        let source: PDFSource
        var unlocked: Unlocked?
        do throws(ResourceError) {
            guard let found = try await PDFSource(fetcher) else { return nil }
            source = found
            switch try await Self.tryPassword("", source) {
            case .isNotEncrypted: return nil
            case .opens(let encryption): unlocked = try await Self.asOwner(credentials, source) ?? Unlocked("", encryption)
            case .isWrong: break
            case .isForeign:
                let name = try await source.foreignProtection()
                let error = Publication.OpeningError(.forbidden, "it is protected by \(name), which cannot be opened here")
                return Self.restricted(asset, fetcher, name, error)
            }
        } catch {
            throw Publication.OpeningError(error)
        }
        if unlocked == nil {
            do throws(Publication.OpeningError) {
                unlocked = try await prompt.unlock(credentials) { (password) async throws(ResourceError) in
                    guard case .opens(let encryption) = try await Self.tryPassword(password, source) else { return nil }
                    return Unlocked(password, encryption)
                }.1
            } catch  where [.credentialsRequired, .incorrectCredentials, .cancelled].contains(error.code) && !Task.isCancelled {
                return Self.restricted(asset, fetcher, "Password", error)
            }
        }
        guard let unlocked else { return nil }
        let file: FileResource
        do throws(ResourceError) { file = try await source.decrypted(password: unlocked.password) } catch {
            throw Publication.OpeningError(error)
        }
        var opened = asset
        opened.mediaType = Format.pdf.mediaType
        let rights = FixedUserRights(copy: unlocked.encryption.mayCopy, print: unlocked.encryption.mayPrint)
        let password = unlocked.password.isEmpty ? nil : unlocked.password
        return ProtectedAsset(asset: opened, fetcher: SingleResourceFetcher(file)) { builder in
            builder.format.specifications.insert(.pdfPassword)
            builder.services.set((any ContentProtectionService).self) { _ in
                PasswordProtectionService(credentials: password, rights: rights)
            }
        }
    }

    /// The owner's rights, which no permission limits.
    private static func asOwner(_ password: String?, _ source: PDFSource) async throws(ResourceError) -> Unlocked? {
        guard let password, case .opens(let encryption) = try await tryPassword(password, source), encryption.isOwner else {
            return nil
        }
        return Unlocked(password, encryption)
    }

    private static func tryPassword(_ password: String, _ source: PDFSource) async throws(ResourceError) -> Trial {
        do throws(ResourceError) {
            return try await source.encryption(password: password).map { .opens($0) } ?? .isNotEncrypted
        } catch  where error.code == .decryption {
            return .isWrong
        } catch  where error.code == .forbidden {
            return .isForeign
        }
    }

    /// A document that stays closed: on the shelf by its file's name.
    private static func restricted(
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ name: String,
        _ error: Publication.OpeningError
    ) -> ProtectedAsset {
        ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            if error.code != .forbidden { builder.format.specifications.insert(.pdfPassword) }
            builder.services.set((any ContentProtectionService).self) { _ in
                RestrictedProtectionService(name: LocalizedString(name), error: error)
            }
        }
    }
}
