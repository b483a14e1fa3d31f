// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPublication

/// Opens one license: performs the actions of ``LicenseValidation``, and finds the passphrase.
struct LicenseOpening {
    let service: LCPService
    /// The app's credentials: a passphrase or its digest.
    let credentials: String?
    /// Asks the user; nil if no dialog is allowed.
    let ask: ((LCPAuthenticatedLicense) async -> String?)?

    /// The result of an opening.
    struct Outcome {
        /// The license that counts now.
        let license: UnverifiedLicense
        /// The verified license; nil if it is not verified.
        let verified: VerifiedLicense?
        /// Received from the server meanwhile.
        let isFresh: Bool
        let status: StatusDocument?
        /// The key of the publication, or why there is none.
        let unlocked: Result<(content: ContentKey, user: UserKey), LCPError>
    }

    func open(_ license: UnverifiedLicense) async -> Outcome {
        var validation = LicenseValidation(
            license,
            profiles: service.configuration.profiles,
            isOffline: service.configuration.isOffline,
            now: service.clock.now,
            standing: try? await service.store.standing(of: license.document)
        )
        var action = validation.start()
        var verified: VerifiedLicense?
        while true {
            switch action {
            case .verify(let license):
                let result = await service.verify(license)
                verified = try? result.get()
                action = validation.next(.verified(result))
            case .fetchStatus(let link):
                action = validation.next(
                    .status(await result { () async throws(LCPError) in try await service.server.status(at: link) })
                )
            case .fetchLicense(let link):
                action = validation.next(.license(await fetch(link)))
            case .unlock(let license):
                let unlocked = await unlock(license)
                if case .success = unlocked {
                    await note(license.document, validation.status, nil)
                    if let status = validation.status { service.register(license.document, status) }
                }
                return outcome(unlocked)
            case .refuse(let error):
                if let verified { await note(verified.document, validation.status, error) }
                return outcome(.failure(error))
            }
        }

        func note(_ current: LicenseDocument, _ status: StatusDocument?, _ error: LCPError?) async {
            // a state that cannot be stored is requested again the next time
            if status != nil {
                await service.note(current, after: license.document, error)
            } else if error == nil {
                try? await service.store.noteSeen(current)
            }
        }

        func outcome(_ unlocked: Result<(content: ContentKey, user: UserKey), LCPError>) -> Outcome {
            let current = validation.fresh ?? verified
            return Outcome(
                license: validation.fresh?.unverified ?? license,
                verified: current,
                isFresh: validation.fresh != nil,
                status: validation.status,
                unlocked: unlocked
            )
        }
    }

    private func fetch(_ link: LicenseLink) async -> Result<VerifiedLicense, LCPError> {
        switch await result({ () async throws(LCPError) in try await service.server.license(at: link) }) {
        case .success(let license): await service.verify(license)
        case .failure(let error): .failure(error)
        }
    }

    private func unlock(_ license: VerifiedLicense) async -> Result<(content: ContentKey, user: UserKey), LCPError> {
        await result { () async throws(LCPError) in
            let credentialKeys = credentials.map { UserKey.candidates($0) } ?? []
            let storedKeys = (try? await service.passphrases.userKeys(for: license.document)) ?? []
            if let keys = try await unlock(license, with: credentialKeys + storedKeys) { return keys }
            var reason: LCPAuthenticatedLicense.Reason = credentials == nil ? .passphraseNotFound : .invalidPassphrase
            var before: String?
            while let ask {
                guard !Task.isCancelled,
                    let words = await ask(LCPAuthenticatedLicense(reason: reason, document: license.document))
                else {
                    throw LCPError(.cancelled, "nobody gave the passphrase")
                }
                if let keys = try await unlock(license, with: UserKey.candidates(words)) { return keys }
                // the same answer again is not a person's second try
                if words == before { throw LCPError(.passphrase, "the passphrase is wrong") }
                before = words
                reason = .invalidPassphrase
            }
            guard credentials != nil else { throw LCPError(.passphraseRequired, "it needs a passphrase") }
            throw LCPError(.passphrase, "the passphrase is wrong")
        }
    }

    private func unlock(
        _ license: VerifiedLicense,
        with candidates: [UserKey]
    ) async throws(LCPError) -> (content: ContentKey, user: UserKey)? {
        for candidate in candidates {
            guard let bytes = try license.contentKey(candidate) else { continue }
            guard let key = try? ContentKey(bytes) else {
                throw LCPError(.contentKey, "the license has no content key of 32 bytes")
            }
            try? await service.passphrases.add(candidate, of: PassphraseOwner(license.document))
            return (key, candidate)
        }
        return nil
    }
}

private func result<Value>(_ body: () async throws(LCPError) -> Value) async -> Result<Value, LCPError> {
    do throws(LCPError) { return .success(try await body()) } catch { return .failure(error) }
}
