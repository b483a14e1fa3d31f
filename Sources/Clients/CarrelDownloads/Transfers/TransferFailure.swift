// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelReader
import CarrelSavedMedia

/// The class of a failed transfer, by which it is repeated.
enum TransferFailure: Sendable {
    /// The same request may succeed later.
    case transient(DownloadError)
    /// The address has expired, or needs other credentials: its playlist may have a new one.
    case expired(DownloadError)
    /// Repeating does not help.
    case final(DownloadError)

    init(_ error: any Error) {
        switch error {
        case let error as ProxyError: self.init(error)
        case let error as SavedMediaError: self = .final(DownloadError(error))
        case let error as DownloadError: self = .final(error)
        default: self = .final(DownloadError(.source, "the source cannot be read"))
        }
    }

    private init(_ error: ProxyError) {
        let mapped = DownloadError(error)
        switch error.originStatus {
        case 401, 403, 404, 410: self = .expired(mapped)
        case 408, 425, 429: self = .transient(mapped)
        case .some(let status): self = status >= 500 ? .transient(mapped) : .final(mapped)
        // no response, or a wrong one; a name without an address comes back with the network
        case .none: self = [.unavailable, .wrongLength, .busy].contains(error.code) ? .transient(mapped) : .final(mapped)
        }
    }

    /// The error of the item if the transfer is not repeated.
    var error: DownloadError {
        switch self {
        case .transient(let error), .expired(let error), .final(let error): error
        }
    }
}

extension DownloadError {
    init(_ error: SavedMediaError) {
        switch error.code {
        case .diskFull: self.init(.diskFull, error.message)
        case .damaged, .missing: self.init(.damaged, error.message)
        case .sealed: self.init(.key, error.message)
        case .format: self.init(.source, error.message)
        default: self.init(.disk, error.message)
        }
    }

    init(_ error: ProxyError) {
        let code: Code =
            switch (error.originStatus, error.code) {
            case (401, _), (403, _): .unauthorized
            case (404, _), (410, _), (_, .missing): .gone
            case (_, .address): .address
            case (_, .live): .live
            case (_, .usage): .selection
            case (_, .unavailable), (_, .busy), (_, .wrongLength): .unavailable
            default: .source
            }
        self.init(code, Self.redacted(error.message))
        pause = error.pause
    }

    /// A message whose addresses have no query, and no part of a path that could be a ticket: messages are stored unsealed.
    private static func redacted(_ message: String) -> String {
        message.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let address = word.trimmingPrefix { $0 == "'" }
            guard MediaOrigin.isURL(String(address)) else { return String(word) }
            let end =
                address.lastIndex { $0 != ":" && $0 != "'" && $0 != "," }.map { address.index(after: $0) } ?? address.endIndex
            let quote = word.startIndex == address.startIndex ? "" : "'"
            return quote + Trace.Value.url(String(address[..<end])).description + address[end...]
        }.joined(separator: " ")
    }
}
