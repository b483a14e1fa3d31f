// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelRights

/// A portal's request for a token, validated: the rules to seal, and the form of the reply.
///
/// The parameters follow the public documents of ExpressPlay's token API, so that portals written for it can call Carrel. What
/// they leave open is Carrel's choice, and documented here. It is not that service, and not certified.
package struct TokenRequest: Sendable, Equatable {
    /// The requested API.
    package enum Service: Sendable, CaseIterable {
        /// `/hms/ms3/token`.
        case ms3
        /// `/hms/bb/token`.
        case broadband
    }

    /// Default validity of a token in seconds: 30 days.
    package static let defaultLifetime: Int64 = 2_592_000
    /// Seconds that a token is valid, and that a rental lasts, at most: ten years.
    package static let maxLifetime: Int64 = 315_360_000

    /// The grant. Contents without a key are in the service's key store (−4019 if it lacks them).
    package let rules: BusinessRules
    /// The content's location: with it the reply is a compound URL; `ms3` alone.
    package let contentURL: String?
    /// The scheme of the rights location; `ms3` alone.
    package let scheme: CompoundURL.Scheme

    /// Reads the parameters of an authenticated client.
    ///
    /// - Parameters:
    ///   - parameters: the request parameters.
    ///   - service: the requested API.
    ///   - now: the service's time.
    ///   - id: the ID of the new token, 16 bytes.
    /// - Throws: the refusal of the first parameter that is wrong.
    package init(
        _ parameters: TokenParameters,
        for service: Service,
        at now: Instant,
        id: [UInt8] = Random.bytes(BusinessRules.idByteCount)
    ) throws(TokenRefusal) {
        let reader = TokenRequestReader(parameters: parameters, now: now)
        let kind = try reader.kind(service)
        let expiresAt =
            try reader.time("expirationTime", or: .expiration) ?? now.advanced(byMilliseconds: Self.defaultLifetime * 1000)
        var rules = BusinessRules(kind: kind, id: id, expiresAt: expiresAt)
        if kind == .ms3 || kind == .license { rules.contents = try reader.contents() }
        rules.user = try reader.user(isRequired: kind == .registration || kind == .deregistration)
        rules.rights = try reader.rights(kind)
        // a license of broadband is made for the store; a stream never is
        rules.isStorable = kind == .license
        rules.cookie = try reader.cookie()
        if kind == .ms3 || kind == .license { rules.redemptions = try reader.redemptions() }
        rules.generalFlags = try reader.flags("generalFlags", or: .generalFlags)
        rules.outputControlFlags = try reader.flags("outputControlFlags", or: .outputFlags)
        rules.outputControlOverride = try reader.outputControlOverride()
        rules.unknownOutputBehavior = try reader.unknownOutputBehavior()
        rules.extensions = try reader.extensions()
        if kind == .ms3 || kind == .license {
            rules.conditions = try reader.conditions()
            rules.deviceThumbprint = try reader.deviceThumbprint()
        }
        do throws(RightsError) { _ = try rules.encode() } catch { throw TokenRefusal(.value, error.message) }
        self.rules = rules
        contentURL = service == .ms3 ? try reader.contentURL() : nil
        scheme = service == .ms3 ? try reader.scheme() : .https
    }
}

/// Reads single parameters.
struct TokenRequestReader {
    let parameters: TokenParameters
    let now: Instant

    func kind(_ service: TokenRequest.Service) throws(TokenRefusal) -> BusinessRules.Kind {
        guard service == .broadband else { return .ms3 }
        switch try parameters.text("actionTokenType") {
        case "0": return .registration
        case "1": return .license
        // not in public samples: the next number
        case "2": return .deregistration
        default: throw TokenRefusal(.value, "actionTokenType is missing or not 0, 1 or 2")
        }
    }

    /// A time in RFC 3339 (UTC), or `+` and seconds from now; nil if absent. An unescaped plus sign in a query decodes to a
    /// space, so a space counts as a plus sign.
    func time(_ name: String, or reason: TokenRefusal.Reason) throws(TokenRefusal) -> Instant? {
        guard let text = try parameters.text(name) else { return nil }
        let latest = now.advanced(byMilliseconds: TokenRequest.maxLifetime * 1000)
        let first = text.utf8.first
        if first == UInt8(ascii: "+") || first == UInt8(ascii: " ") {
            guard let seconds = seconds(text.utf8.dropFirst()), seconds <= TokenRequest.maxLifetime else {
                throw TokenRefusal(reason, "\(name) is not a number of seconds")
            }
            return now.advanced(byMilliseconds: seconds * 1000)
        }
        guard let last = text.utf8.last, last == UInt8(ascii: "Z") || last == UInt8(ascii: "z"), let time = Instant.parse(text)
        else {
            throw TokenRefusal(reason, "\(name) is not a time in UTC")
        }
        guard now < time, time <= latest else { throw TokenRefusal(reason, "\(name) is not within the next ten years") }
        return time
    }

    /// A whole number of 1 or more in at most ten digits.
    private func seconds(_ digits: some Collection<UInt8>) -> Int64? {
        guard 1...10 ~= digits.count, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
    }

    func user(isRequired: Bool) throws(TokenRefusal) -> BusinessRules.User? {
        let id = try parameters.text("userId")
        let key = try key("userKey")
        switch (id, key) {
        case (nil, nil) where !isRequired: return nil
        case (let id?, let key?):
            guard BusinessRules.isText(id) else { throw TokenRefusal(.value, "userId is longer than 255 bytes") }
            return BusinessRules.User(id: id, key: key)
        case (nil, _): throw TokenRefusal(.value, "userId is missing")
        default: throw TokenRefusal(.value, "userKey is missing")
        }
    }

    func rights(_ kind: BusinessRules.Kind) throws(TokenRefusal) -> BusinessRules.Rights? {
        guard kind == .ms3 || kind == .license else { return nil }
        switch (kind, try parameters.text("rightsType")) {
        case (.ms3, nil): return .session
        // a streaming license is not stored, so a rental would promise what it does not keep
        case (.ms3, _): throw TokenRefusal(.rightsTypeWrong, "a stream has no rights type")
        case (_, nil): throw TokenRefusal(.rightsTypeMissing)
        case (_, "BuyToOwn"): return .buyToOwn
        case (_, "Rental"):
            guard let end = try time("rental.periodEndTime", or: .rentalEndMissing) else { throw TokenRefusal(.rentalEndMissing) }
            guard let text = try parameters.text("rental.playDuration") else { throw TokenRefusal(.playDurationMissing) }
            guard let duration = seconds(text.utf8), duration <= Int64(BusinessRules.maxPlayDuration) else {
                throw TokenRefusal(.playDurationWrong)
            }
            return .rental(periodEnd: end, playDuration: Int(duration))
        default: throw TokenRefusal(.rightsTypeWrong)
        }
    }

    /// The number of devices that may redeem the token; 1 by default. The parameter is Carrel's own.
    func redemptions() throws(TokenRefusal) -> Int {
        guard let text = try parameters.text("redemptions") else { return 1 }
        guard let number = seconds(text.utf8), number <= 1_000_000 else {
            throw TokenRefusal(.value, "redemptions is not a number from 1 to 1000000")
        }
        return Int(number)
    }

    func cookie() throws(TokenRefusal) -> String? {
        guard let cookie = try parameters.text("cookie") else { return nil }
        guard BusinessRules.isText(cookie) else { throw TokenRefusal(.cookie) }
        return cookie
    }

    /// Four bytes as hexadecimal digits; 0 if absent.
    func flags(_ name: String, or reason: TokenRefusal.Reason) throws(TokenRefusal) -> UInt32 {
        guard let text = try parameters.text(name) else { return 0 }
        guard text.utf8.count == 8 else { throw TokenRefusal(.flagsLength, name) }
        guard let bytes = Hex.decode(text) else { throw TokenRefusal(reason, name) }
        return bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    func outputControlOverride() throws(TokenRefusal) -> BusinessRules.OutputControlOverride? {
        guard let text = try parameters.text("outputControlOverride") else { return nil }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "urn:marlin:organization:intertrust:wudo", parts[1] == "ImageConstraintLevel",
            let level = UInt8(parts[2]), String(level) == parts[2]
        else { throw TokenRefusal(.outputControl, "outputControlOverride") }
        return BusinessRules.OutputControlOverride(imageConstraintLevel: level)
    }

    func unknownOutputBehavior() throws(TokenRefusal) -> BusinessRules.UnknownOutputBehavior? {
        guard let text = try parameters.text("unknownOutputBehavior") else { return nil }
        guard let behavior = BusinessRules.UnknownOutputBehavior(rawValue: text) else { throw TokenRefusal(.unknownOutput) }
        return behavior
    }

    /// The extension in its three parameters, or in a single value.
    func extensions() throws(TokenRefusal) -> [BusinessRules.Extension] {
        var extensions: [BusinessRules.Extension] = []
        if let type = try parameters.text("extensionType") {
            guard Self.isExtensionType(type) else { throw TokenRefusal(.extensionType) }
            guard let flag = try parameters.flag("extensionCriticalFlag") else {
                throw TokenRefusal(.value, "extensionCriticalFlag is missing")
            }
            guard let payload = try parameters.text("extensionPayload") else {
                throw TokenRefusal(.value, "extensionPayload is missing")
            }
            extensions.append(try Self.extension(type, flag, payload))
        } else {
            let flag = try parameters.text("extensionCriticalFlag")
            let payload = try parameters.text("extensionPayload")
            guard flag == nil, payload == nil else { throw TokenRefusal(.value, "extensionType is missing") }
        }
        if let text = try parameters.text("ms3Extension") {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
            guard Self.isExtensionType(parts[0]) else { throw TokenRefusal(.extensionType) }
            guard parts.count == 3, parts[1] == "true" || parts[1] == "false" else {
                throw TokenRefusal(.value, "ms3Extension is not a type, true or false, and a payload")
            }
            extensions.append(try Self.extension(parts[0], parts[1] == "true", parts[2]))
        }
        guard Set(extensions.map(\.type)).count == extensions.count else {
            throw TokenRefusal(.extensionType, "one type is given twice")
        }
        return extensions
    }

    private static func isExtensionType(_ text: String) -> Bool {
        text.utf8.count == 4 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    private static func `extension`(_ type: String, _ isCritical: Bool, _ text: String) throws(TokenRefusal)
        -> BusinessRules.Extension
    {
        guard let payload = Base64.decode(text), payload.count <= 1024 else { throw TokenRefusal(.extensionPayload) }
        return BusinessRules.Extension(type: type, isCritical: isCritical, payload: payload)
    }

    func contentURL() throws(TokenRefusal) -> String? {
        guard let text = try parameters.text("contentURL") else { return nil }
        guard let url = try? CompoundURL.content(text) else {
            throw TokenRefusal(.value, "contentURL is not a URL with http, https or hls")
        }
        return url
    }

    func scheme() throws(TokenRefusal) -> CompoundURL.Scheme {
        let isMS3 = try parameters.flag("ms3Scheme") ?? false
        let isHTTPS = try parameters.flag("useHttps")
        guard !isMS3 || isHTTPS != true else { throw TokenRefusal(.value, "ms3Scheme and useHttps exclude each other") }
        return isMS3 || isHTTPS == false ? .ms3 : .https
    }
}
