// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelRights

/// Why a device was not personalised, or a later step of its life failed. Never holds a key or a token.
public struct PlayerError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<PlayerError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// The server's error code, such as `personalization.device-limit`; nil if it did not respond.
    public let serverCode: String?

    /// Why an evaluation denied the use; nil for other failures.
    public let reason: ActionResult.Reason?

    package init(_ code: Code, _ message: String, serverCode: String? = nil, reason: ActionResult.Reason? = nil) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.reason = reason
    }

    public var description: String { message }

    /// Whether no encrypted connection came about, for whatever reason.
    var isTLS: Bool { [.tls, .untrustedServer, .otherServer].contains(code) }

    /// The number that stands for the kind of failure, stable across versions: -5001 to -5099.
    public var number: Int { Self.facts[code]?.number ?? -5099 }

    /// Whether the same request can succeed later without user action.
    public var isRetryable: Bool { Self.facts[code]?.isRetryable ?? false }

    /// The user's next step: a lower-case sentence without a period.
    public var recommendation: String { Self.facts[code]?.recommendation ?? "try again later" }

    private struct Facts {
        let number: Int
        let isRetryable: Bool
        let recommendation: String
    }

    private static let facts: [Code: Facts] = [
        .network: Facts(number: -5001, isRetryable: true, recommendation: "check the network connection, then try again"),
        .host: Facts(number: -5002, isRetryable: true, recommendation: "the server does not answer; try again in a few minutes"),
        .tls: Facts(
            number: -5003,
            isRetryable: false,
            recommendation: "the encrypted connection failed; check the server's address and certificate"
        ),
        .clock: Facts(number: -5004, isRetryable: false, recommendation: "set the device's clock, then try again"),
        .deviceLimit: Facts(number: -5005, isRetryable: false, recommendation: "remove another device from the account first"),
        .revoked: Facts(
            number: -5006,
            isRetryable: false,
            recommendation: "ask the provider; a revoked device has to be personalised again with new keys"
        ),
        .rejected: Facts(number: -5007, isRetryable: false, recommendation: "update the app, or ask the provider"),
        .vault: Facts(
            number: -5008,
            isRetryable: false,
            recommendation: "unlock or repair the vault that keeps the device's keys"
        ),
        .fingerprint: Facts(
            number: -5009,
            isRetryable: false,
            recommendation: "this folder was copied from another place: personalise again in a new folder"
        ),
        .store: Facts(number: -5010, isRetryable: false, recommendation: "check the folder's permissions and free space"),
        .notPersonalized: Facts(number: -4001, isRetryable: false, recommendation: "personalise the device first"),
        .link: Facts(number: -5020, isRetryable: false, recommendation: "ask for another code, and type it within ten minutes"),
        .server: Facts(number: -5011, isRetryable: false, recommendation: "check the address of the server"),
        .token: Facts(number: -5012, isRetryable: false, recommendation: "ask the shop for another token"),
        .key: Facts(number: -4019, isRetryable: false, recommendation: "ask the provider: its key store lacks the content's key"),
        .concurrency: Facts(number: -5013, isRetryable: true, recommendation: "stop another stream, or wait a few minutes"),
        .ended: Facts(number: -5014, isRetryable: false, recommendation: "get a new license"),
        .noLicense: Facts(number: -5015, isRetryable: false, recommendation: "see which licenses are here, or get one"),
        .denied: Facts(
            number: -5016,
            isRetryable: false,
            recommendation: "get or renew a license; ask the service for the time if the clock was wrong"
        ),
        .missingToken: Facts(number: -5021, isRetryable: false, recommendation: "ask the shop for an address with a token"),
        .missingContent: Facts(
            number: -5022,
            isRetryable: false,
            recommendation: "ask the shop for an address with the content's location"
        ),
        .insecureRights: Facts(
            number: -5023,
            isRetryable: false,
            recommendation: "ask the shop for an address with https or ms3"
        ),
        .untrustedServer: Facts(
            number: -5024,
            isRetryable: false,
            recommendation: "the server's certificate is not trusted; check the address, and the clock of this device"
        ),
        .otherServer: Facts(
            number: -5025,
            isRetryable: false,
            recommendation: "the server's certificate is for another name; check the address"
        ),
        .stopped: Facts(number: -5017, isRetryable: false, recommendation: "begin again"),
        .outdated: Facts(
            number: -5019,
            isRetryable: false,
            recommendation:
                "renew the player while there is a network ('carrel device personalize --renew'): keys and licenses stay"
        ),
        .storeDamaged: Facts(
            number: -5018,
            isRetryable: false,
            recommendation: "restore the folder from a backup, or move it away and redeem the tokens again"
        ),
    ]
}

extension ErrorCode where Failure == PlayerError {
    /// There is no network, or the connection broke.
    public static var network: Self { Self("player.network") }
    /// The server does not respond, or is too busy.
    public static var host: Self { Self("player.host") }
    /// No encrypted connection came about.
    public static var tls: Self { Self("player.tls") }
    /// The device's clock is so wrong that no certificate is valid.
    public static var clock: Self { Self("player.clock") }
    /// The account has no slot for another device.
    public static var deviceLimit: Self { Self("player.device-limit") }
    /// The player was revoked or suspended.
    public static var revoked: Self { Self("player.revoked") }
    /// The server refused, or its response does not chain to the trusted root.
    public static var rejected: Self { Self("player.rejected") }
    /// The vault is locked, absent or damaged.
    public static var vault: Self { Self("player.vault") }
    /// The folder was copied: the keys belong to another installation.
    public static var fingerprint: Self { Self("player.fingerprint") }
    /// The player's own files cannot be read or written.
    public static var store: Self { Self("player.store") }
    /// The device is not personalised.
    public static var notPersonalized: Self { Self("player.not-personalized") }
    /// The code that links the player was refused, or not typed in time.
    public static var link: Self { Self("player.link") }
    /// The text is not a token, or the service refuses the token: expired, used by another device, for something else.
    public static var token: Self { Self("player.token") }
    /// The compound URL has no token.
    public static var missingToken: Self { Self("player.token-missing") }
    /// The compound URL has no content location.
    public static var missingContent: Self { Self("player.content-missing") }
    /// The rights location is not reached by TLS.
    public static var insecureRights: Self { Self("player.rights-insecure") }
    /// The server's certificate is not trusted, for example because it is self-signed.
    public static var untrustedServer: Self { Self("player.tls-untrusted") }
    /// The server's certificate is for another name.
    public static var otherServer: Self { Self("player.tls-host") }
    /// The service does not have the content's key.
    public static var key: Self { Self("player.key") }
    /// The account has as many streams as it may have.
    public static var concurrency: Self { Self("player.concurrency") }
    /// The license was returned, revoked, or has expired.
    public static var ended: Self { Self("player.ended") }
    /// The license is not on this device.
    public static var noLicense: Self { Self("player.no-license") }
    /// No license allows the use; ``PlayerError/reason`` has the reason.
    public static var denied: Self { Self("player.denied") }
    /// The use of the license was ended.
    public static var stopped: Self { Self("player.stopped") }
    /// The player's file is older than the license store, for example from a backup, or chains to another root.
    public static var outdated: Self { Self("player.outdated") }
    /// A row of the license store was altered.
    public static var storeDamaged: Self { Self("player.store-damaged") }
    /// The server's address is not a URL, or neither uses TLS nor refers to this machine.
    public static var server: Self { Self("player.server") }
}
