// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelPlayer
import CarrelRights

/// Why a content key was not obtained, or may not be used. Never has a key, a token or a ticket.
public struct ContentKeyError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<ContentKeyError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// The key, as ``ContentKeyIdentifier/description`` shows it; nil if the failure is of no single key.
    public internal(set) var key: String?
    /// The failure of the player; nil if it came otherwise.
    public let playerError: PlayerError?
    /// The failures of further keys of the same item.
    public internal(set) var others: [ContentKeyError] = []

    package init(_ code: Code, _ message: String, key: String? = nil, playerError: PlayerError? = nil) {
        self.code = code
        self.message = message
        self.key = key
        self.playerError = playerError
    }

    /// The failure of a player.
    package init(_ error: PlayerError, key: String? = nil) {
        self.init(Self.code(error), error.message, key: key, playerError: error)
    }

    /// A failure of an app that delivers keys itself.
    ///
    /// - Parameter message: a lower-case sentence without a period and without secrets.
    /// - Returns: `keys.refused` with the message.
    public static func failed(_ message: String) -> ContentKeyError { ContentKeyError(.refused, message) }

    /// The key and the message.
    public var description: String { key.map { "key \($0): \(message)" } ?? message }

    /// Whether the same request can succeed later without user action.
    public var isRetryable: Bool { code == .network || playerError?.isRetryable == true }

    private static func code(_ error: PlayerError) -> Code {
        if let reason = error.reason {
            switch reason {
            case .clockRollback: return .clock
            case .expiredPlayback, .expiredStorage, .countExhausted: return .expired
            default: break
            }
        }
        switch error.serverCode {
        case "license.not-storable": return .notStorable
        case "license.content", "license.key": return .missingKey
        default: break
        }
        return switch error.code {
        case .network, .host: .network
        case .server: .otherService
        case .notPersonalized: .notPersonalized
        case .vault: .vault
        case .store, .storeDamaged, .outdated, .fingerprint: .store
        case .ended: .ended
        case .key: .missingKey
        case .noLicense: .unknownKey
        default: .refused
        }
    }
}

extension ErrorCode where Failure == ContentKeyError {
    /// The server, or the license, refuses the key.
    public static var refused: Self { Self("keys.refused") }
    /// The response has no key with this ID.
    public static var missingKey: Self { Self("keys.missing") }
    /// Neither a license nor a server for the key is known.
    public static var unknownKey: Self { Self("keys.unknown") }
    /// Only Apple's module opens the key.
    public static var unplayable: Self { Self("keys.unplayable") }
    /// The license server is of another service than the player.
    public static var otherService: Self { Self("keys.other-service") }
    /// The folder has no player, which the license server requires.
    public static var notPersonalized: Self { Self("keys.not-personalized") }
    /// The license or the key may not be saved.
    public static var notStorable: Self { Self("keys.not-storable") }
    /// The key server cannot be reached, or is too busy.
    public static var network: Self { Self("keys.network") }
    /// The service's certificate is missing, or the service's root did not issue it.
    public static var certificate: Self { Self("keys.certificate") }
    /// The response of a key server is not a key.
    public static var response: Self { Self("keys.response") }
    /// The address of a key may not be requested.
    public static var address: Self { Self("keys.address") }
    /// The license or the order has expired.
    public static var expired: Self { Self("keys.expired") }
    /// The clock of the device was set back.
    public static var clock: Self { Self("keys.clock") }
    /// The license was returned or revoked, or the order was.
    public static var ended: Self { Self("keys.ended") }
    /// The vault is locked, absent or damaged.
    public static var vault: Self { Self("keys.vault") }
    /// The player's own files cannot be read or written.
    public static var store: Self { Self("keys.store") }
    /// The request was cancelled, or the session has ended.
    public static var cancelled: Self { Self("keys.cancelled") }
    /// An operation does not fit the state of its request.
    public static var state: Self { Self("keys.state") }
}
