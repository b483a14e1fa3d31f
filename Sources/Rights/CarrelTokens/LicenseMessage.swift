// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelHTTP
package import CarrelJOSE
package import CarrelJSON
package import CarrelRights

/// A license service message: an entitlement that a portal signs for a license service, as a JSON Web Token in `X-AxDRM-Message`.
///
/// The format follows Axinom's public documents: a message for an Axinom tenant can be written with that tenant's communication
/// key, and Carrel's license service accepts the same message. It is format-compatible, not Axinom's own implementation, and not
/// certified. Only ``read(_:keys:at:)`` creates a message from untrusted input.
package struct LicenseMessage: Sendable, Equatable {
    /// A secret that portal and license service share: it signs messages, and encrypts the keys in them.
    package struct CommunicationKey: Sendable, Equatable {
        /// The UUID by which a message names it.
        package let id: KeyID
        /// 32 bytes.
        package let secret: Secret
        let mac: HMACSHA256

        /// - Throws: `rights.malformed` for a secret of another length.
        package init(id: KeyID, secret: Secret) throws(RightsError) {
            guard secret.count == 32 else { throw RightsError(.malformed, "a communication key has 32 bytes") }
            self.id = id
            self.secret = secret
            mac = HMACSHA256(key: secret)
        }

        package static func == (a: Self, b: Self) -> Bool { a.id == b.id && a.secret == b.secret }
    }

    /// How messages are signed: HS256 and the type `JWT`, at most 16 KiB, since they travel in a header.
    package static let kind = TypedJWS.Kind(type: "JWT", algorithm: .hs256, maxByteCount: 16_384)

    /// The communication key that signed it.
    package var communicationKeyID: KeyID
    /// The portal's id of the message: 1 to 255 bytes.
    package var id: String?
    /// From when on the message is taken; nil for always.
    package var startsAt: Instant?
    /// From when on the message is no longer taken; nil for never.
    package var expiresAt: Instant?
    package var entitlement: Entitlement

    /// - Parameters:
    ///   - communicationKeyID: the key to sign it with.
    ///   - id: the ID of the message.
    ///   - startsAt: the start of validity.
    ///   - expiresAt: the end of validity.
    ///   - entitlement: the grant.
    package init(
        communicationKeyID: KeyID,
        id: String? = nil,
        startsAt: Instant? = nil,
        expiresAt: Instant? = nil,
        entitlement: Entitlement
    ) {
        self.communicationKeyID = communicationKeyID
        self.id = id
        self.startsAt = startsAt
        self.expiresAt = expiresAt
        self.entitlement = entitlement
    }

    /// The grant of a message (`message`, the entitlement message).
    ///
    /// Durations are whole seconds. Members that this type does not have may restrict: they are in ``unknown``,
    /// ``AccessControl/unknown`` and ``UsagePolicy/unknown``, and a service that does not know them denies. An unknown source of
    /// keys is refused with the message.
    package struct Entitlement: Sendable, Equatable {
        /// The version of the form; version 1 has one source of keys, no policies and fewer limits.
        package enum Version: Int, Sendable, CaseIterable {
            case one = 1
            case two = 2
        }

        package var version: Version
        package var keys: KeySource
        /// Start of validity; nil for immediately.
        package var startsAt: Instant?
        /// From when on it does not play; nil for never.
        package var expiresAt: Instant?
        /// Seconds from its issue on; nil for no such end.
        package var duration: Int?
        /// Seconds from the first play on (`first_play_expiration`, version 1).
        package var playDuration: Int?
        /// Whether the license may be stored.
        package var allowsPersistence = false
        /// Seconds of a lease, after which a stream is renewed.
        package var concurrencyInterval = 300
        /// Seconds after a lease in which it may still be renewed.
        package var concurrencyGracePeriod = 60
        /// Rules for one DRM system each: `fairplay`, `playready` or `widevine`.
        package var systems: [System: SystemLicense] = [:]
        /// Rules for outputs and devices, by the name that keys use.
        package var policies: [UsagePolicy] = []
        package var access = AccessControl()
        /// Whether the response describes the request (`return_license_request_info`, in version 1 `return_client_info`).
        package var returnsRequestInfo = false
        /// The portal's own value, which comes back to it.
        package var session: JSON?
        /// Names of members of the message, its license and its systems' licenses that this version does not know, such as
        /// `license.widevine.rental_duration`.
        package var unknown: [String] = []

        package init(_ version: Version = .two, keys: KeySource) {
            self.version = version
            self.keys = keys
        }

        /// The narrowest term of play that the message sets for any system, in seconds from the first play on. A reader of
        /// another system keeps to it.
        package var narrowestPlayDuration: Int? {
            ([playDuration] + systems.values.map(\.playbackDuration)).compactMap(\.self).min()
        }

        /// The narrowest term of the license in seconds from its issue on, as above.
        package var narrowestDuration: Int? { ([duration] + systems.values.map(\.duration)).compactMap(\.self).min() }

        /// Whether every system's rules let the license be stored.
        package var isStorable: Bool { allowsPersistence && systems.values.allSatisfy { $0.allowsPersistence != false } }

        /// Whether no system's rules forbid to play.
        package var allowsPlayback: Bool { systems.values.allSatisfy { $0.allowsPlayback != false } }
    }

    /// A DRM system that a message has rules for.
    package enum System: String, Sendable, CaseIterable {
        case fairplay, playready, widevine
    }

    /// Rules for licenses of one system; nil if the message sets none.
    package struct SystemLicense: Sendable, Equatable {
        package var realTimeExpiration: Bool?
        /// Seconds from the first play on.
        package var playbackDuration: Int?
        /// Seconds from the issue on.
        package var duration: Int?
        package var allowsPersistence: Bool?
        package var ignoresKeysInRequest: Bool?
        package var allowsPlayback: Bool?
        package var allowsRenewal: Bool?
        package var renewsWithUsage: Bool?
        package var includesAllEntitledKeys: Bool?
        package var renewalURL: String?
        package var customData: String?

        package init() {}
    }

    /// Which keys the license has.
    package enum KeySource: Sendable, Equatable {
        /// These keys, 1 to 64; any other key is denied.
        case inline([ContentKey])
        /// The keys that the player requests, derived from a seed.
        case licenseRequest(seedID: String?, policy: String?)
        /// These of the license service's store, 1 to 64.
        case stored([ContentKey])
    }

    /// A key, by its id.
    package struct ContentKey: Sendable, Equatable {
        package var id: KeyID
        /// 16 bytes; nil if the license service has the key. It is sent as one block encrypted with the communication key, with
        /// its ID as the initialization vector.
        package var key: Secret?
        /// The initialization vector of the content, 16 bytes, for systems that take it from the license.
        package var iv: [UInt8]?
        /// The seed that the license service derives the key from.
        package var seedID: String?
        /// The name of a ``UsagePolicy`` of the message.
        package var policy: String?

        package init(id: KeyID, key: Secret? = nil, iv: [UInt8]? = nil, seedID: String? = nil, policy: String? = nil) {
            self.id = id
            self.key = key
            self.iv = iv
            self.seedID = seedID
            self.policy = policy
        }
    }

    /// Rules for outputs and devices. A key is left out of the license if a device does not satisfy its policy.
    package struct UsagePolicy: Sendable, Equatable {
        package var name: String
        package var systems: [System: SystemPolicy] = [:]
        /// Names of rules that this version does not know, such as `widevine.resolution`. A service that cannot enforce one
        /// leaves the keys of the policy out.
        package var unknown: [String] = []

        package init(name: String) {
            self.name = name
        }
    }

    /// Rules of one system; nil if the policy sets none.
    package struct SystemPolicy: Sendable, Equatable {
        /// `TYPE0` is the only documented value for FairPlay; others are passed on.
        package var hdcp: String?
        package var allowsAirPlay: Bool?
        package var allowsAVAdapter: Bool?
        /// Such as `HW_SECURE_ALL`.
        package var deviceSecurityLevel: String?
        /// `cgms-a`.
        package var copyControl: String?
        package var minDeviceSecurityLevel: Int?
        /// Least levels by output, such as `analog_video_opl`.
        package var outputLevels: [String: Int] = [:]
        /// UUIDs of outputs that are allowed.
        package var playEnablers: [String] = []

        package init() {}
    }

    /// The clients that get a license.
    package struct AccessControl: Sendable, Equatable {
        /// How a limit on devices works.
        package enum ConcurrencyMode: String, Sendable, CaseIterable {
            case blockNewDevice = "BLOCK_NEW_DEVICE"
            /// Carrel's own.
            case evictOldest = "EVICT_OLDEST"
            case none = "NONE"
        }

        /// Whether the message is good for one license.
        package var preventsReuse = false
        /// Devices that may play concurrently; nil for no limit.
        package var concurrencyLimit: Int?
        package var concurrencyMode = ConcurrencyMode.blockNewDevice
        /// Empty for every address.
        package var addresses: [AddressRange] = []
        /// Names of restrictions that this version does not know or that are for another system, such as lists of device ids. A
        /// service that cannot enforce them denies the license.
        package var unknown: [String] = []

        package init() {}

        /// Whether a client at this address may have a license.
        package func allows(_ address: IPAddress) -> Bool { addresses.isEmpty || addresses.contains { $0.contains(address) } }
    }
}

// MARK: - Bounds

extension LicenseMessage {
    /// Keys of one message.
    static let maxKeys = 64
    /// Policies of one message.
    static let maxPolicies = 32
    /// Seconds of any duration: a hundred years.
    static let maxDuration = 3_153_600_000

    /// Checks that the parts are consistent.
    ///
    /// - Throws: `rights.malformed`.
    func check() throws(RightsError) {
        if let id {
            guard BusinessRules.isText(id) else { throw RightsError(.malformed, "the id of a license message is malformed") }
        }
        if let startsAt, let expiresAt {
            guard startsAt < expiresAt else { throw RightsError(.malformed, "a license message ends before it begins") }
        }
        try entitlement.check()
    }
}

extension LicenseMessage.Entitlement {
    fileprivate func check() throws(RightsError) {
        let durations = [duration, playDuration, concurrencyInterval, concurrencyGracePeriod, access.concurrencyLimit]
        guard durations.compactMap(\.self).allSatisfy({ 0...LicenseMessage.maxDuration ~= $0 }) else {
            throw RightsError(.malformed, "a duration of a license message is out of range")
        }
        let names = policies.map(\.name)
        guard names.count <= LicenseMessage.maxPolicies, Set(names).count == names.count,
            names.allSatisfy({ BusinessRules.isText($0) })
        else {
            throw RightsError(.malformed, "the usage policies of a license message are malformed")
        }
        let used: [String?]
        switch keys {
        case .licenseRequest(_, let policy): used = [policy]
        case .inline(let keys), .stored(let keys):
            guard 1...LicenseMessage.maxKeys ~= keys.count, Set(keys.map(\.id)).count == keys.count else {
                throw RightsError(.malformed, "a license message lists no key, too many, or one twice")
            }
            guard keys.allSatisfy({ $0.key?.count ?? 16 == 16 && $0.iv?.count ?? 16 == 16 }) else {
                throw RightsError(.malformed, "a key of a license message does not have 16 bytes")
            }
            used = keys.map(\.policy)
        }
        guard used.compactMap(\.self).allSatisfy(names.contains) else {
            throw RightsError(.malformed, "a key names a usage policy that the message does not have")
        }
    }
}
