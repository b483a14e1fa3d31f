// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
package import CarrelJSON
package import CarrelRights

extension LicenseMessage {
    /// The message as a JSON Web Token.
    ///
    /// - Parameter key: the communication key that the message names.
    /// - Returns: the value of `X-AxDRM-Message`.
    /// - Throws: `rights.malformed` for a message that breaks a bound, that is longer than 16 KiB, that has rules its version does not have or
    ///   rules that are not known, or that names another key.
    package func write(under key: CommunicationKey) throws(RightsError) -> String {
        guard key.id == communicationKeyID else {
            throw RightsError(.malformed, "the license message names another communication key")
        }
        try check()
        var json: JSONObject = ["version": 1, "com_key_id": .string(communicationKeyID.uuid)]
        json["id"] = id.map { .string($0) }
        json["begin_date"] = startsAt.map { .string($0.description) }
        json["expiration_date"] = expiresAt.map { .string($0.description) }
        json["message"] = .object(try entitlement.version == .one ? entitlement.versionOne(key) : entitlement.versionTwo(key))
        let unsigned = TypedJWS.Unsigned(Self.kind, payload: JSON.object(json).write())
        let text = unsigned.signed(key.mac.authenticate(unsigned.input.rawSpan))
        guard text.utf8.count <= Self.kind.maxByteCount else {
            throw RightsError(.malformed, "the license message is longer than 16 KiB")
        }
        return text
    }
}

extension LicenseMessage {
    /// Signs an entitlement message unchanged, with rules of other license services that this type does not have.
    ///
    /// - Parameters:
    ///   - entitlement: the entitlement message.
    ///   - id: the ID of the message.
    ///   - start: the start of validity; nil for immediately.
    ///   - end: the end of validity.
    ///   - key: the communication key to sign it with.
    /// - Returns: the value of `X-AxDRM-Message`.
    /// - Throws: `rights.malformed` for a message that is longer than 16 KiB.
    package static func sign(
        _ entitlement: JSONObject,
        id: String,
        from start: Instant?,
        until end: Instant,
        under key: CommunicationKey
    ) throws(RightsError) -> String {
        var json: JSONObject = ["version": 1, "com_key_id": .string(key.id.uuid), "id": .string(id)]
        json["begin_date"] = start.map { .string($0.description) }
        json["expiration_date"] = .string(end.description)
        json["message"] = .object(entitlement)
        let unsigned = TypedJWS.Unsigned(kind, payload: JSON.object(json).write())
        let text = unsigned.signed(key.mac.authenticate(unsigned.input.rawSpan))
        guard text.utf8.count <= kind.maxByteCount else {
            throw RightsError(.malformed, "the license message is longer than 16 KiB")
        }
        return text
    }
}

extension LicenseMessage.Entitlement {
    fileprivate func versionOne(_ key: LicenseMessage.CommunicationKey) throws(RightsError) -> JSONObject {
        var plain = LicenseMessage.Entitlement(.one, keys: keys)
        (plain.startsAt, plain.expiresAt, plain.playDuration) = (startsAt, expiresAt, playDuration)
        (plain.allowsPersistence, plain.returnsRequestInfo) = (allowsPersistence, returnsRequestInfo)
        if access.addresses.count == 1 { plain.access.addresses = access.addresses }
        guard plain == self else {
            throw RightsError(.malformed, "version 1 of the license message does not have all of these rules")
        }
        var json: JSONObject = ["type": "entitlement_message", "version": 1, "persistent": .bool(allowsPersistence)]
        json["begin_date"] = startsAt.map { .string($0.description) }
        json["expiration_date"] = expiresAt.map { .string($0.description) }
        json["first_play_expiration"] = playDuration.map { .integer($0) }
        if returnsRequestInfo { json["return_client_info"] = true }
        if let address = access.addresses.first {
            let text = LicenseMessage.text(of: address)
            guard IPAddress(text) != nil else {
                throw RightsError(.malformed, "version 1 of the license message names one address and no block")
            }
            json["client_ip"] = .string(text)
        }
        switch keys {
        case .inline(let keys): json["keys"] = try LicenseMessage.ContentKey.json(keys, key)
        case .licenseRequest(nil, nil): json["keys_based_on_request"] = true
        default: throw RightsError(.malformed, "version 1 of the license message does not have this source of keys")
        }
        return json
    }

    fileprivate func versionTwo(_ key: LicenseMessage.CommunicationKey) throws(RightsError) -> JSONObject {
        guard playDuration == nil else {
            throw RightsError(.malformed, "version 2 of the license message sets the term of play for each system")
        }
        guard unknown.isEmpty, access.unknown.isEmpty, policies.allSatisfy(\.unknown.isEmpty) else {
            throw RightsError(.malformed, "the license message has rules that are not known")
        }
        var license: JSONObject = [:]
        license["start_datetime"] = startsAt.map { .string($0.description) }
        license["expiration_datetime"] = expiresAt.map { .string($0.description) }
        license["duration"] = duration.map { .integer($0) }
        license["allow_persistence"] = .bool(allowsPersistence)
        if concurrencyInterval != 300 { license["concurrency_interval"] = .integer(concurrencyInterval) }
        if concurrencyGracePeriod != 60 { license["concurrency_grace_period"] = .integer(concurrencyGracePeriod) }
        for system in LicenseMessage.System.allCases {
            license[system.rawValue] = systems[system].map { .object($0.json) }
        }
        var json: JSONObject = ["type": "entitlement_message", "version": 2, "license": .object(license)]
        switch keys {
        case .inline(let keys): json["content_keys_source"] = ["inline": try LicenseMessage.ContentKey.json(keys, key)]
        case .stored(let keys):
            guard keys.allSatisfy({ $0.key == nil }) else {
                throw RightsError(.malformed, "the license message brings a key that should be in the store")
            }
            json["content_keys_source"] = ["stored": try LicenseMessage.ContentKey.json(keys, key)]
        case .licenseRequest(let seedID, let policy):
            var request: JSONObject = [:]
            request["seed_id"] = seedID.map { .string($0) }
            request["usage_policy"] = policy.map { .string($0) }
            json["content_keys_source"] = ["license_request": .object(request)]
        }
        if !policies.isEmpty { json["content_key_usage_policies"] = .array(policies.map { .object($0.json) }) }
        var server: JSONObject = [:]
        if returnsRequestInfo { server["return_license_request_info"] = true }
        if !access.json.isEmpty { server["access_control"] = .object(access.json) }
        if !server.isEmpty { json["license_server"] = .object(server) }
        json["session"] = session
        return json
    }
}

extension LicenseMessage.ContentKey {
    fileprivate static func json(_ keys: [Self], _ wrapper: LicenseMessage.CommunicationKey) throws(RightsError) -> JSON {
        .array(try keys.map { key throws(RightsError) in .object(try key.json(wrapper)) })
    }

    private func json(_ wrapper: LicenseMessage.CommunicationKey) throws(RightsError) -> JSONObject {
        var json: JSONObject = ["id": .string(id.uuid)]
        if let key {
            guard let block = try? AESCBCKeyBlock.encrypt(key, under: wrapper.secret, iv: id.bytes) else {
                throw RightsError(.malformed, "a key of the license message cannot be encrypted")
            }
            json["encrypted_key"] = .string(Base64.encode(block))
        }
        json["iv"] = iv.map { .string(Base64.encode($0)) }
        json["seed_id"] = seedID.map { .string($0) }
        json["usage_policy"] = policy.map { .string($0) }
        return json
    }
}

extension LicenseMessage.SystemLicense {
    fileprivate var json: JSONObject {
        var json: JSONObject = [:]
        json["real_time_expiration"] = realTimeExpiration.map { .bool($0) }
        json["playback_duration"] = playbackDuration.map { .integer($0) }
        json["duration"] = duration.map { .integer($0) }
        json["allow_persistence"] = allowsPersistence.map { .bool($0) }
        json["ignore_keys_in_license_request"] = ignoresKeysInRequest.map { .bool($0) }
        json["allow_playback"] = allowsPlayback.map { .bool($0) }
        json["allow_renewal"] = allowsRenewal.map { .bool($0) }
        json["renew_with_usage"] = renewsWithUsage.map { .bool($0) }
        json["include_all_entitled_keys"] = includesAllEntitledKeys.map { .bool($0) }
        json["renewal_url"] = renewalURL.map { .string($0) }
        json["custom_data"] = customData.map { .string($0) }
        return json
    }
}

extension LicenseMessage.UsagePolicy {
    fileprivate var json: JSONObject {
        var json: JSONObject = ["name": .string(name)]
        for system in LicenseMessage.System.allCases { json[system.rawValue] = systems[system].map { .object($0.json) } }
        return json
    }
}

extension LicenseMessage.SystemPolicy {
    fileprivate var json: JSONObject {
        var json: JSONObject = [:]
        json["hdcp"] = hdcp.map { .string($0) }
        json["allow_airplay"] = allowsAirPlay.map { .bool($0) }
        json["allow_av_adapter"] = allowsAVAdapter.map { .bool($0) }
        json["device_security_level"] = deviceSecurityLevel.map { .string($0) }
        json["cgms-a"] = copyControl.map { .string($0) }
        json["min_device_security_level"] = minDeviceSecurityLevel.map { .integer($0) }
        for (name, level) in outputLevels.sorted(by: { $0.key < $1.key }) { json[name] = .integer(level) }
        if !playEnablers.isEmpty { json["play_enablers"] = .array(playEnablers.map { .string($0) }) }
        return json
    }
}

extension LicenseMessage.AccessControl {
    fileprivate var json: JSONObject {
        var json: JSONObject = [:]
        if preventsReuse { json["prevent_drm_message_reuse"] = true }
        json["concurrency_limit"] = concurrencyLimit.map { .integer($0) }
        if concurrencyMode != .blockNewDevice { json["concurrency_mode"] = .string(concurrencyMode.rawValue) }
        if !addresses.isEmpty { json["allowed_ip_addresses"] = .array(addresses.map { .string(LicenseMessage.text(of: $0)) }) }
        return json
    }
}

extension LicenseMessage {
    /// An address block, or a single address if the block has no other.
    fileprivate static func text(of range: AddressRange) -> String {
        let parts = range.description.split(separator: "/")
        let isAddress = parts.last == (parts[0].utf8.contains(UInt8(ascii: ":")) ? "128" : "32")
        return isAddress ? String(parts[0]) : range.description
    }
}
