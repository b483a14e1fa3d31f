// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelSavedMedia
import CarrelThreads

/// The reason why the proxy cannot serve something: a stable code, a message for users, and a recommendation.
public struct ProxyError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<ProxyError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period; never a key, a token, or the query of an address.
    public let message: String
    /// Whether the same request may succeed a moment later.
    package var isTransient = false
    /// The status of the origin's response, if it has not the resource.
    package var originStatus: Int?
    /// The next step, if it is not determined by the code.
    private let ownRecommendation: String?
    /// The origin's `Retry-After` delay, after too many requests.
    package var pause: Duration?

    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period.
    ///   - recommendation: a sentence; nil for the default of the code.
    package init(_ code: Code, _ message: String, recommendation: String? = nil) {
        self.code = code
        self.message = message
        ownRecommendation = recommendation
    }

    /// The next step of the user or the app: a sentence.
    public var recommendation: String {
        ownRecommendation ?? Self.facts[code]?.recommendation ?? "Report the message to the provider."
    }

    /// The status of the response to the player.
    package var status: HTTPStatus { Self.facts[code]?.status ?? .badGateway }

    private static let facts: [Code: (status: HTTPStatus, recommendation: String)] = [
        .version: (.internalServerError, "Build the app with the version of the library that it expects."),
        .usage: (.badRequest, "Correct the call."),
        .clearContent: (.forbidden, "Play it without the proxy, or allow clear content with the open policy."),
        .outputControl: (.forbidden, "Ask the provider for a license that allows plain output."),
        .noRanges: (.badGateway, "Ask the provider to serve byte ranges."),
        .missingKey: (.forbidden, "Get a license for this content, then play it again."),
        .refusedKey: (.forbidden, "Get a new license for this content, then play it again."),
        .pendingKey: (.serviceUnavailable, "Wait for the license, then play it again."),
        .expiredKey: (.forbidden, "Renew the license, then play it again."),
        .unsupported: (.unsupportedMediaType, "Use a player that knows this protection or coding."),
        .wrongLength: (.badGateway, "Play it again; if the error stays, report it to the provider."),
        .damaged: (.badGateway, "Play it again; if the error stays, report it to the provider."),
        .manifest: (.badGateway, "Report the message to the provider."),
        .address: (.forbidden, "Allow plain http or private networks for this source if you trust it."),
        .unavailable: (.badGateway, "Check the path or the network, then play it again."),
        .missing: (.notFound, "Play from another place; the provider has no such segment."),
        .windowPassed: (.notFound, "Return to the live edge."),
        .ended: (.gone, "Make a new address for the source."),
        .live: (.unsupportedMediaType, "Play it online; only sources that have ended can be saved."),
        .savedMissing: (.notFound, "Wait until the download is complete; if it is, save the title again."),
        .savedDamaged: (.badGateway, "Delete the download and save the title again."),
        .savedSealed: (.forbidden, "Play it with the player that saved it, or save the title again."),
        .busy: (.serviceUnavailable, "Wait for other requests, or end other sessions, then play it again."),
    ]
}

extension ErrorCode where Failure == ProxyError {
    /// The library has another major version than the app expects.
    public static var version: Self { Self("proxy.version") }
    /// A parameter is wrong, or the proxy has not started.
    public static var usage: Self { Self("proxy.usage") }
    /// The content is not protected, but the policy requires protection.
    public static var clearContent: Self { Self("proxy.clear-content") }
    /// The license requires output controls that a plain stream does not have.
    public static var outputControl: Self { Self("proxy.output-control") }
    /// The origin does not serve byte ranges.
    public static var noRanges: Self { Self("proxy.no-ranges") }
    /// There is no key for the content.
    public static var missingKey: Self { Self("proxy.missing-key") }
    /// The key is refused.
    public static var refusedKey: Self { Self("proxy.refused-key") }
    /// The license is not there yet.
    public static var pendingKey: Self { Self("proxy.pending-key") }
    /// The key may not be used any more.
    public static var expiredKey: Self { Self("proxy.expired-key") }
    /// The protection or the coding is not known.
    public static var unsupported: Self { Self("proxy.unsupported") }
    /// A resource's length differs from the declared length.
    public static var wrongLength: Self { Self("proxy.wrong-length") }
    /// A segment is cut off or damaged, or its key is another.
    public static var damaged: Self { Self("proxy.damaged") }
    /// A manifest or a playlist is malformed.
    public static var manifest: Self { Self("proxy.manifest") }
    /// An address may not be used.
    public static var address: Self { Self("proxy.address") }
    /// The origin does not respond, or responds with an error.
    public static var unavailable: Self { Self("proxy.unavailable") }
    /// The origin has no such resource.
    public static var missing: Self { Self("proxy.missing") }
    /// The segment is not in the live window any more.
    public static var windowPassed: Self { Self("proxy.window-passed") }
    /// The session has ended.
    public static var ended: Self { Self("proxy.ended") }
    /// The source is live, and cannot be saved.
    public static var live: Self { Self("proxy.live") }
    /// A saved package does not have a segment, or not yet.
    public static var savedMissing: Self { Self("proxy.saved-missing") }
    /// A file of a saved package was altered, cut or swapped.
    public static var savedDamaged: Self { Self("proxy.saved-damaged") }
    /// The key of a saved package is absent.
    public static var savedSealed: Self { Self("proxy.saved-sealed") }
    /// There are too many sessions, or too many requests of one.
    public static var busy: Self { Self("proxy.busy") }
}

extension ProxyError {
    /// An error of a segment or a file in the proxy's terms.
    ///
    /// - Parameters:
    ///   - error: thrown below the proxy.
    ///   - name: the resource, as errors show it.
    package init(_ error: any Error, in name: String) {
        switch error {
        case let error as ProxyError: self = error
        case let error as SavedMediaError: self.init(Self.code(of: error), "\(name): \(error.message)")
        case let error as MediaError:
            let advice = error.code == .wrongKey ? "Check the key; if it is right, the media are damaged." : nil
            self.init(Self.code(of: error), "\(name): \(error.message)", recommendation: advice)
        case let error as Malformed: self.init(.damaged, "\(name): \(error.description)")
        case let error as HTTPClientError:
            // a redirect that is not followed leads away from https, to plain http, or round in circles
            self.init(error.code == .address || error.code == .redirect ? .address : .unavailable, "\(name): \(error.message)")
            isTransient = [.refused, .timeout, .head, .interrupted, .failed].contains(error.code)
        case let error as QueueFull: self.init(.busy, "\(name): \(error.description)")
        case let error as ThreadRefused: self.init(.busy, "\(name): \(error.description)")
        default: self.init(.unavailable, "\(name): \(error)")
        }
    }

    private static func code(of error: SavedMediaError) -> Code {
        switch error.code {
        case .missing: .savedMissing
        case .damaged, .format: .savedDamaged
        case .sealed: .savedSealed
        default: .unavailable
        }
    }

    private static func code(of error: MediaError) -> Code {
        switch error.code {
        case .missingKey: .missingKey
        case .refusedKey: .refusedKey
        case .expiredKey: .expiredKey
        case .outputControl: .outputControl
        case .noRanges: .noRanges
        case .unsupported: .unsupported
        case .malformed, .wrongKey: .damaged
        default: .unavailable
        }
    }
}
