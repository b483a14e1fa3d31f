// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelTokens

/// Tokens, and what portals and players send around them. The first byte chooses the reader.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    let text = String(decoding: body, as: UTF8.self)
    let now = Instant(milliseconds: 1_800_000_000_000)
    switch choice % 6 {
    case 0:
        for kind in BusinessRules.Kind.allCases where (try? SealedToken.open(text, as: kind, keys: [1: key], at: now)) != nil {
            fatalError("a token was accepted that was not sealed")
        }
    case 1:
        if let url = try? CompoundURL(parsing: text), (try? CompoundURL(parsing: url.description)) != url {
            fatalError("a compound URL changes when written")
        }
    case 2:
        if let token = try? ActionToken(parsing: body.rawSpan) {
            let written = token.write()
            if (try? ActionToken(parsing: written.rawSpan)) != token { fatalError("an action token changes when written") }
        }
    case 3: _ = try? BroadbandConfiguration(parsing: body.rawSpan)
    case 4:
        let pairs = text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
        }
        guard let parameters = try? TokenParameters(pairs) else { break }
        for service in TokenRequest.Service.allCases {
            guard let request = try? TokenRequest(parameters, for: service, at: now) else { continue }
            guard let token = try? SealedToken.seal(request.rules, under: .init(id: 1, secret: key)),
                (try? token.open(as: request.rules.kind, keys: [1: key], at: now)) == request.rules
            else { continue }
        }
    default:
        if let communication, (try? LicenseMessage.read(text, keys: [communication], at: now)) != nil {
            fatalError("a license message was accepted that was not signed")
        }
    }
    return 0
}

private let key = Secret.random(count: 32)
private let communication = try? LicenseMessage.CommunicationKey(id: KeyID(label: "fuzz"), secret: .random(count: 32))
