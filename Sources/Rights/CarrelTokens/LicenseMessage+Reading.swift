// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelJSON
package import CarrelRights

extension LicenseMessage {
    /// Reads a message. Only the ID of its communication key is used before its signature is verified.
    ///
    /// - Parameters:
    ///   - text: a JSON Web Token of at most 16 KiB, signed with HS256 and of the type `JWT`.
    ///   - keys: the communication keys of portals.
    ///   - now: the service's time.
    /// - Returns: the verified message.
    /// - Throws: `rights.malformed`; `rights.token` for an unknown communication key; `rights.signature`; `rights.expired` for a
    ///   message outside its validity.
    package static func read(
        _ text: some StringProtocol,
        keys: [CommunicationKey],
        at now: Instant
    ) throws(RightsError) -> LicenseMessage {
        let message = try Unverified(text)
        guard let key = keys.first(where: { $0.id == message.keyID }) else {
            throw RightsError(.token, "the license message is for another service: its communication key is not known")
        }
        return try message.verified(by: key, at: now)
    }

    /// A message before its signature is verified: it only tells which key verifies it.
    package struct Unverified: Sendable {
        /// The ID of the communication key that the message names.
        package let keyID: KeyID
        private let signed: TypedJWS.Unverified
        private let members: MessageMembers

        /// Parses a message.
        ///
        /// - Parameter text: as for ``LicenseMessage/read(_:keys:at:)``.
        /// - Throws: `rights.malformed`, `rights.signature`; `rights.token` if it names no communication key.
        package init(_ text: some StringProtocol) throws(RightsError) {
            do throws(JOSEError) { signed = try TypedJWS.Unverified(text, as: kind) } catch {
                throw RightsError(
                    error.code == .malformed ? .malformed : .signature,
                    "the license message is not signed with HS256 as a JWT"
                )
            }
            let limits = JSONLimits(depth: 12, byteCount: 16_384, values: 2048)
            guard let object = try? JSON.parse(signed.unverifiedPayload.rawSpan, limits: limits).object else {
                throw RightsError(.malformed, "the license message is not a JSON object")
            }
            members = MessageMembers(object)
            guard let id = try members.keyID("com_key_id") else {
                throw RightsError(.token, "the license message names no communication key")
            }
            keyID = id
        }

        /// Verifies the message.
        ///
        /// - Parameters:
        ///   - key: the communication key.
        ///   - now: the service's time.
        /// - Returns: the verified message.
        /// - Throws: `rights.malformed`; `rights.signature`; `rights.expired` for a message outside its validity.
        package func verified(by key: CommunicationKey, at now: Instant) throws(RightsError) -> LicenseMessage {
            do throws(JOSEError) { _ = try signed.verified(by: key.mac) } catch {
                throw RightsError(.signature, "the license message is not signed with its communication key")
            }
            return try LicenseMessage(members, key, at: now)
        }
    }

    private init(_ members: MessageMembers, _ key: CommunicationKey, at now: Instant) throws(RightsError) {
        guard try members.number("version") == 1 else {
            throw RightsError(.malformed, "the license message is of a version that is not known")
        }
        guard let message = try members.object("message"), try message.text("type") == "entitlement_message",
            let version = try message.number("version").flatMap({ Entitlement.Version(rawValue: $0) })
        else { throw RightsError(.malformed, "the license message has no entitlement of version 1 or 2") }
        self.init(
            communicationKeyID: key.id,
            id: try members.text("id"),
            startsAt: try members.instant("begin_date"),
            expiresAt: try members.instant("expiration_date"),
            entitlement: version == .one ? try Entitlement(versionOne: message, key) : try Entitlement(versionTwo: message, key)
        )
        try check()
        guard startsAt.map({ $0 <= now }) ?? true else { throw RightsError(.expired, "the license message is not valid yet") }
        guard expiresAt.map({ now < $0 }) ?? true else { throw RightsError(.expired, "the license message has expired") }
    }
}

extension LicenseMessage.Entitlement {
    fileprivate init(versionOne message: MessageMembers, _ key: LicenseMessage.CommunicationKey) throws(RightsError) {
        let asked = try message.flag("keys_based_on_request") ?? false
        let listed = try message.objects("keys")
        switch (asked, listed) {
        case (true, nil), (true, []?): self.init(.one, keys: .licenseRequest(seedID: nil, policy: nil))
        case (false, let keys?): self.init(.one, keys: .inline(try LicenseMessage.ContentKey.list(keys, key)))
        default: throw RightsError(.malformed, "the license message does not have exactly one source of keys")
        }
        allowsPersistence = try message.flag("persistent") ?? false
        startsAt = try message.instant("begin_date")
        expiresAt = try message.instant("expiration_date")
        playDuration = try message.number("first_play_expiration")
        returnsRequestInfo = try message.flag("return_client_info") ?? false
        if let text = try message.text("client_ip") { access.addresses = [try LicenseMessage.address(text)] }
        unknown = message.unknown(besides: Self.membersOfVersionOne)
    }

    private static let membersOfVersionOne: Set<String> = [
        "type", "version", "keys_based_on_request", "keys", "persistent", "begin_date", "expiration_date",
        "first_play_expiration", "return_client_info", "client_ip",
    ]
    private static let membersOfVersionTwo: Set<String> = [
        "type", "version", "content_keys_source", "license", "content_key_usage_policies", "license_server", "session",
    ]
    private static let membersOfLicense = Set(LicenseMessage.System.allCases.map(\.rawValue)).union([
        "start_datetime", "expiration_datetime", "duration", "allow_persistence", "concurrency_interval",
        "concurrency_grace_period",
    ])

    fileprivate init(versionTwo message: MessageMembers, _ key: LicenseMessage.CommunicationKey) throws(RightsError) {
        guard let source = try message.object("content_keys_source") else {
            throw RightsError(.malformed, "the license message has no source of keys")
        }
        self.init(.two, keys: try LicenseMessage.KeySource(source, key))
        if let license = try message.object("license") {
            startsAt = try license.instant("start_datetime")
            expiresAt = try license.instant("expiration_datetime")
            duration = try license.number("duration")
            allowsPersistence = try license.flag("allow_persistence") ?? false
            concurrencyInterval = try license.number("concurrency_interval") ?? concurrencyInterval
            concurrencyGracePeriod = try license.number("concurrency_grace_period") ?? concurrencyGracePeriod
            unknown += license.unknown(besides: Self.membersOfLicense, after: "license.")
            for system in LicenseMessage.System.allCases {
                guard let rules = try license.object(system.rawValue) else { continue }
                systems[system] = try LicenseMessage.SystemLicense(rules)
                let prefix = "license.\(system.rawValue)."
                unknown += rules.unknown(besides: LicenseMessage.SystemLicense.members, after: prefix)
            }
        }
        unknown += message.unknown(besides: Self.membersOfVersionTwo)
        policies = try (message.objects("content_key_usage_policies") ?? []).map(LicenseMessage.UsagePolicy.init)
        if let server = try message.object("license_server") {
            returnsRequestInfo = try server.flag("return_license_request_info") ?? false
            if let control = try server.object("access_control") { access = try LicenseMessage.AccessControl(control) }
            unknown += server.unknown(besides: ["return_license_request_info", "access_control"], after: "license_server.")
        }
        session = message.json["session"]
    }
}

extension LicenseMessage.KeySource {
    fileprivate init(_ source: MessageMembers, _ key: LicenseMessage.CommunicationKey) throws(RightsError) {
        guard source.json.count == 1 else {
            throw RightsError(.malformed, "the license message does not have exactly one source of keys")
        }
        if let keys = try source.objects("inline") {
            self = .inline(try LicenseMessage.ContentKey.list(keys, key))
        } else if let keys = try source.objects("stored") {
            let stored = try LicenseMessage.ContentKey.list(keys, key)
            guard stored.allSatisfy({ $0.key == nil }) else {
                throw RightsError(.malformed, "the license message brings a key that should be in the store")
            }
            self = .stored(stored)
        } else if let request = try source.object("license_request") {
            self = .licenseRequest(seedID: try request.text("seed_id"), policy: try request.text("usage_policy"))
        } else {
            throw RightsError(.malformed, "the license message has a source of keys that is not known")
        }
    }
}

extension LicenseMessage.ContentKey {
    fileprivate static func list(_ list: [MessageMembers], _ key: LicenseMessage.CommunicationKey) throws(RightsError) -> [Self] {
        guard list.count <= LicenseMessage.maxKeys else {
            throw RightsError(.malformed, "the license message lists too many keys")
        }
        return try list.map { members throws(RightsError) in try Self(members, key) }
    }

    private init(_ members: MessageMembers, _ wrapper: LicenseMessage.CommunicationKey) throws(RightsError) {
        guard let id = try members.keyID("id") else { throw RightsError(.malformed, "a key of the license message has no id") }
        self.init(id: id)
        iv = try members.bytes("iv", count: 16)
        seedID = try members.text("seed_id")
        policy = try members.text("usage_policy")
        guard let block = try members.bytes("encrypted_key", count: 16) else { return }
        guard let key = try? AESCBCKeyBlock.decrypt(block.rawSpan, under: wrapper.secret, iv: id.bytes) else {
            throw RightsError(.malformed, "a key of the license message cannot be decrypted")
        }
        self.key = key
    }
}

extension LicenseMessage.SystemLicense {
    fileprivate static let members: Set<String> = [
        "real_time_expiration", "playback_duration", "duration", "allow_persistence", "ignore_keys_in_license_request",
        "allow_playback", "allow_renewal", "renew_with_usage", "include_all_entitled_keys", "renewal_url", "custom_data",
    ]

    fileprivate init(_ members: MessageMembers) throws(RightsError) {
        realTimeExpiration = try members.flag("real_time_expiration")
        playbackDuration = try members.number("playback_duration")
        duration = try members.number("duration")
        allowsPersistence = try members.flag("allow_persistence")
        ignoresKeysInRequest = try members.flag("ignore_keys_in_license_request")
        allowsPlayback = try members.flag("allow_playback")
        allowsRenewal = try members.flag("allow_renewal")
        renewsWithUsage = try members.flag("renew_with_usage")
        includesAllEntitledKeys = try members.flag("include_all_entitled_keys")
        renewalURL = try members.text("renewal_url", maxByteCount: 2048)
        customData = try members.text("custom_data", maxByteCount: 4096)
    }
}

extension LicenseMessage.UsagePolicy {
    fileprivate init(_ members: MessageMembers) throws(RightsError) {
        guard let name = try members.text("name") else { throw RightsError(.malformed, "a usage policy has no name") }
        self.init(name: name)
        for member in members.json.names where member != "name" {
            guard let system = LicenseMessage.System(rawValue: member), let rules = try members.object(member) else {
                unknown.append(member)
                continue
            }
            let (policy, strange) = try LicenseMessage.SystemPolicy.read(rules)
            systems[system] = policy
            unknown += strange.map { "\(member).\($0)" }
        }
        unknown.sort()
    }
}

extension LicenseMessage.SystemPolicy {
    /// The rules, and the names of those that are not known.
    fileprivate static func read(_ members: MessageMembers) throws(RightsError) -> (Self, unknown: [String]) {
        var policy = Self()
        var unknown: [String] = []
        for name in members.json.names {
            switch name {
            case "hdcp": policy.hdcp = try members.text(name)
            case "allow_airplay": policy.allowsAirPlay = try members.flag(name)
            case "allow_av_adapter": policy.allowsAVAdapter = try members.flag(name)
            case "device_security_level": policy.deviceSecurityLevel = try members.text(name)
            case "cgms-a": policy.copyControl = try members.text(name)
            case "min_device_security_level": policy.minDeviceSecurityLevel = try members.number(name)
            case "play_enablers": policy.playEnablers = try members.texts(name)
            case _ where name.hasSuffix("_opl"): policy.outputLevels[name] = try members.number(name)
            default: unknown.append(name)
            }
        }
        return (policy, unknown)
    }
}

extension LicenseMessage.AccessControl {
    fileprivate init(_ members: MessageMembers) throws(RightsError) {
        for name in members.json.names {
            switch name {
            case "prevent_drm_message_reuse": preventsReuse = try members.flag(name) ?? false
            case "concurrency_limit": concurrencyLimit = try members.number(name)
            case "concurrency_mode":
                guard let mode = try members.text(name).flatMap({ ConcurrencyMode(rawValue: $0) }) else {
                    throw RightsError(.malformed, "the concurrency mode of the license message is not known")
                }
                concurrencyMode = mode
            case "allowed_ip_addresses":
                let texts = try members.texts(name)
                // an empty list would mean every address here
                guard !texts.isEmpty else { throw RightsError(.malformed, "the license message allows no address") }
                addresses = try texts.map { text throws(RightsError) in try LicenseMessage.address(text) }
            default: unknown.append(name)
            }
        }
        unknown.sort()
    }
}

extension LicenseMessage {
    /// An address, or a block of addresses.
    fileprivate static func address(_ text: String) throws(RightsError) -> AddressRange {
        guard let range = AddressRange(text) else {
            throw RightsError(.malformed, "an address of the license message is malformed")
        }
        return range
    }
}
