// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A mistake in a publication that did not keep it from being opened.
public struct Warning: Sendable, Equatable, CustomStringConvertible {
    /// The severity for a reader.
    public enum Severity: String, Sendable {
        /// Nothing that a reader would notice.
        case minor
        /// Something that a reader may miss.
        case moderate
        /// A part of the publication.
        case major
    }

    /// The severity for a reader.
    public let severity: Severity
    /// A lower-case sentence without a period.
    public let message: String

    /// Creates a warning.
    ///
    /// - Parameters:
    ///   - severity: the severity for a reader.
    ///   - message: a lower-case sentence without a period.
    public init(_ severity: Severity, _ message: String) {
        self.severity = severity
        self.message = message
    }

    public var description: String { message }
}

/// Hears of the mistakes in a publication while it is opened.
public protocol WarningLogger: AnyObject, Sendable {
    /// Receives one warning.
    ///
    /// - Parameter warning: a mistake in the publication. Calls may come from any thread, several concurrently.
    func log(_ warning: Warning)
}

/// Keeps the first warnings, in the order in which they came.
public final class WarningList: WarningLogger {
    private let kept = Locked<[Warning]>([])
    private let limit: Int

    /// Creates an empty list of warnings.
    ///
    /// - Parameter limit: the maximum number of warnings, so that a broken publication cannot exhaust memory.
    public init(limit: Int = 1000) {
        self.limit = limit
    }

    public func log(_ warning: Warning) {
        let limit = limit
        kept.withLock { if $0.count < limit { $0.append(warning) } }
    }

    /// The warnings so far, oldest first.
    public var warnings: [Warning] { kept.withLock { $0 } }
}

/// The log in which parsers report omissions; it may be nil.
struct Warnings: Sendable {
    let logger: (any WarningLogger)?

    /// The part being read, such as `"readingOrder"`; nil if messages name it.
    private var place: String?

    init(_ logger: (any WarningLogger)? = nil) {
        self.logger = logger
    }

    /// For warnings in a part of the document.
    func within(_ place: String) -> Warnings {
        var inner = self
        inner.place = place
        return inner
    }

    func add(_ severity: Warning.Severity, _ message: @autoclosure () -> String) {
        guard let logger else { return }
        logger.log(Warning(severity, place.map { "in \($0), \(message())" } ?? message()))
    }
}
