// SPDX-License-Identifier: Apache-2.0

/// The rights of a reader in addition to reading, and their remaining amounts.
///
/// Text is counted in Unicode scalars. Consuming is atomic: two callers never both get the last character. If the store fails,
/// the right is denied.
public protocol UserRights: Sendable {
    /// Whether everything is and stays allowed, so that there is nothing to count and nothing to withhold.
    var isUnlimited: Bool { get }

    /// The remaining amount of a right.
    ///
    /// - Parameter right: the right.
    /// - Returns: the amount in the unit of the right, Unicode scalars or pages; nil if unlimited.
    /// - Throws: ``UserRightsError`` if the store is unavailable; nothing is granted then.
    func remaining(_ right: CountedRight) async throws(UserRightsError) -> Int?

    /// Whether copying is possible at all; false if all is used up. To show a button.
    var canCopy: Bool { get async }
    /// Whether a text may be copied now. Consumes nothing.
    ///
    /// - Parameter text: the text to copy.
    /// - Returns: true if it may be copied.
    func canCopy(_ text: String) async -> Bool
    /// Consumes the right to copy a text.
    ///
    /// - Parameters:
    ///   - text: the text, counted completely.
    ///   - requestID: the request's identifier: a repeated request for the same text consumes nothing and has the same result.
    /// - Returns: whether the text may be copied.
    func copy(_ text: String, requestID: String?) async -> Bool

    /// Whether printing is possible at all; false if all is used up.
    var canPrint: Bool { get async }
    /// Whether a number of pages may be printed now. Consumes nothing.
    ///
    /// - Parameter pageCount: the number of pages.
    /// - Returns: true if they may be printed.
    func canPrint(pageCount: Int) async -> Bool
    /// Consumes the right to print.
    ///
    /// - Parameters:
    ///   - pageCount: the number of pages, at least 1.
    ///   - requestID: the request's identifier, as for `copy`.
    /// - Returns: whether the pages may be printed.
    func print(pageCount: Int, requestID: String?) async -> Bool
}

extension UserRights {
    /// False: rights that do not say so may be limited.
    public var isUnlimited: Bool { false }

    /// Returns 0 for a right that is not granted, and nil for a right that is.
    ///
    /// - Parameter right: the right.
    /// - Returns: nil without a limit; 0 if nothing is granted.
    /// - Throws: nothing; implementations with a store may fail.
    public func remaining(_ right: CountedRight) async throws(UserRightsError) -> Int? {
        switch right {
        case .copy: await canCopy ? nil : 0
        case .print: await canPrint ? nil : 0
        default: 0
        }
    }

    /// Consumes the right to copy a text.
    ///
    /// - Parameter text: the text to copy.
    /// - Returns: true if copying is granted.
    public func copy(_ text: String) async -> Bool { await copy(text, requestID: nil) }
    /// Consumes the right to print.
    ///
    /// - Parameter pageCount: the number of pages.
    /// - Returns: true if printing is granted.
    public func print(pageCount: Int) async -> Bool { await print(pageCount: pageCount, requestID: nil) }
}

/// The rights of an unrestricted publication.
public struct UnrestrictedUserRights: UserRights {
    /// Creates rights without a limit.
    public init() {}

    public var isUnlimited: Bool { true }
    public var canCopy: Bool { get async { true } }
    public func canCopy(_ text: String) async -> Bool { true }
    public func copy(_ text: String, requestID: String?) async -> Bool { true }
    public var canPrint: Bool { get async { true } }
    public func canPrint(pageCount: Int) async -> Bool { pageCount > 0 }
    public func print(pageCount: Int, requestID: String?) async -> Bool { pageCount > 0 }
}

/// No rights: for a restricted publication.
public struct AllRestrictedUserRights: UserRights {
    /// Creates rights that forbid everything.
    public init() {}

    public var canCopy: Bool { get async { false } }
    public func canCopy(_ text: String) async -> Bool { false }
    public func copy(_ text: String, requestID: String?) async -> Bool { false }
    public var canPrint: Bool { get async { false } }
    public func canPrint(pageCount: Int) async -> Bool { false }
    public func print(pageCount: Int, requestID: String?) async -> Bool { false }
}

/// Rights that are granted or not, and never used up: the permissions of a PDF.
public struct FixedUserRights: UserRights {
    private let mayCopy: Bool
    private let mayPrint: Bool

    /// Creates rights that do not change.
    ///
    /// - Parameters:
    ///   - copy: whether text may be copied.
    ///   - print: whether pages may be printed.
    public init(copy: Bool, print: Bool) {
        mayCopy = copy
        mayPrint = print
    }

    public var isUnlimited: Bool { mayCopy && mayPrint }
    public var canCopy: Bool { get async { mayCopy } }
    public func canCopy(_ text: String) async -> Bool { mayCopy }
    public func copy(_ text: String, requestID: String?) async -> Bool { mayCopy }
    public var canPrint: Bool { get async { mayPrint } }
    public func canPrint(pageCount: Int) async -> Bool { mayPrint && pageCount > 0 }
    public func print(pageCount: Int, requestID: String?) async -> Bool { mayPrint && pageCount > 0 }
}
