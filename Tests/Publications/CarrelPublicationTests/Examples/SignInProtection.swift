// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication
import CarrelReader

/// Publications that a Carrel server gives only to those who are signed in.
struct SignInProtection: ContentProtection {
    /// Scheme and authority, such as `https://books.example`: the only place that the token goes to.
    let server: String
    /// Whose subscription it is.
    let account: String
    let subscription: SubscriptionClient
    let client: HTTPClient

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        guard case .remote(let url) = asset.location, HTTPFetcher.origin(of: url) == server else { return nil }
        let ask = allowUserInteraction ? onAskCredentials : nil
        let refusal = try await signIn(credentials) { await ask?(dialog, sender) }
        guard refusal == nil else { return try await restricted(asset, fetcher, refusal) }

        let subscription = subscription
        // requested for each resource, because the token may be renewed while the user reads
        let headers: @Sendable () async throws(ResourceError) -> HTTPFields = { () async throws(ResourceError) in
            guard let token = await subscription.bearerAuthorization else {
                throw ResourceError(.forbidden, "the user is no longer signed in")
            }
            return ["Authorization": token]
        }
        do throws(ResourceError) {
            let opened = try await AssetOpener(client: client, headers: headers).fetcher(of: asset)
            let resources = HTTPFetcher(base: url, client: client, headers: headers)
            return ProtectedAsset(asset: asset, fetcher: opened) { builder in
                // a manifest's resources are next to it on the server
                if builder.format.conforms(to: .rwpm) { builder.fetcher = resources }
                builder.services.set((any ContentProtectionService).self) { _ in SignInService(error: nil) }
            }
        } catch {
            return try await restricted(asset, fetcher, Publication.OpeningError(error))
        }
    }

    private var dialog: Dialog<String> {
        Dialog(title: "Sign in", message: LocalizedString("The password of \(account) on \(server)"))
    }

    /// Signs in, unless already signed in: with the known password, then with those that the user types.
    ///
    /// - Returns: why the sign-in failed; nil after success.
    private func signIn(
        _ known: String?,
        _ ask: () async -> String?
    ) async throws(Publication.OpeningError) -> Publication.OpeningError? {
        var password = known
        while await !subscription.isSignedIn {
            if password == nil { password = await ask() }
            guard let word = password else { return Publication.OpeningError(.credentialsRequired, "the user is not signed in") }
            password = nil
            do throws(ReaderError) {
                _ = try await subscription.signIn(name: account, password: word)
            } catch {
                guard error.code == .refused else { throw Publication.OpeningError(.unavailable, error.message) }
            }
        }
        return nil
    }

    /// A publication with a public manifest is added to the shelf, restricted; any other cannot be shown.
    private func restricted(
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ refusal: Publication.OpeningError?
    ) async throws(Publication.OpeningError) -> ProtectedAsset {
        do throws(ResourceError) {
            for link in try await fetcher.links().prefix(1) { _ = try await fetcher.get(link).read(0..<1) }
        } catch {
            throw refusal ?? Publication.OpeningError(error)
        }
        return ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in SignInService(error: refusal) }
        }
    }
}

final class SignInService: ContentProtectionService {
    let error: (any Error)?
    var isRestricted: Bool { error != nil }
    let name: LocalizedString? = "Sign-in"

    init(error: (any Error)?) {
        self.error = error
    }
}
