// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelLicensing
import CarrelPostgres
import CarrelRights
import CarrelServer
import CarrelStore
import CarrelTokens
import CarrelVault
import Glibc

/// Makes a home with players, and requests for licenses, each with a token and a nonce of its own: a line each. They are good for five minutes.
func prepareRequests(home path: String, file: String, count: Int, database address: String?) async throws {
    let database = try address.map { try PostgresDatabase($0, migrations: Schema.migrations) }
    let home = try Home(at: path, missing: .create)
    let service = try await CarrelService.open(home, database: database, missing: .create)
    let keys = try await service.authority.keys()
    // a player gets 60 licenses a minute
    var players: [(certificate: [UInt8], signing: P256.PrivateKey)] = []
    for number in 0..<max(1, count / 40) {
        let (signing, agreement) = (P256.PrivateKey(), P256.PrivateKey())
        let text = try await PersonalizationRequest.make(
            nonce: service.personalizations.challenges.make(at: .now()),
            signingKey: signing.publicKey,
            agreementKey: agreement.publicKey,
            fingerprint: Random.bytes(32),
            level: .passphrase,
            app: "Reader",
            build: "1.0",
            deviceName: "phone \(number)",
            clock: .now()
        ) { signing.sign($0.rawSpan) }
        let answer = try await service.personalizations.personalize(text, reader: nil, requestID: "bench")
        players.append((SHA256.hash(answer.certificate.rawSpan), signing))
    }
    guard let recipient = keys.document.agreementKey(at: .now()), let out = unsafe fopen(file, "w") else {
        fatalError("the requests cannot be written")
    }
    let kid = KeyID(label: "film")
    let contentKey = Secret.random(count: 16)
    for number in 0..<count {
        let player = players[number % players.count]
        let now = Instant.now()
        var rules = BusinessRules(kind: .license, expiresAt: now + .seconds(86_400))
        rules.contents = [.init(contentID: "cid:film", keyID: kid, key: contentKey)]
        rules.rights = .buyToOwn
        rules.isStorable = true
        var request = KeyRequest(
            id: Random.uuid(),
            environment: keys.environment,
            session: .persist,
            contentID: "",
            nonce: service.personalizations.challenges.make(at: now),
            clock: now,
            level: .passphrase
        )
        request.token = try await service.businessTokens.seal(rules, at: now).text
        let text = try await request.sealed(certificate: player.certificate, to: recipient) { player.signing.sign($0.rawSpan) }
            .text
        _ = unsafe fputs(text + "\n", out)
    }
    unsafe fclose(out)
    await service.database.close()
}
