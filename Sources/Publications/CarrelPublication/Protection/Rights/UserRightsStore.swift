// SPDX-License-Identifier: Apache-2.0

/// Remembers how much of the counted rights of publications has been used, for good.
public protocol UserRightsStore: Sendable {
    /// The used amount of a right.
    ///
    /// - Parameters:
    ///   - right: the right.
    ///   - publication: the source of the right, such as a license.
    /// - Returns: the amount; 0 if unused.
    /// - Throws: `rights.unavailable`.
    func used(_ right: CountedRight, of publication: String) async throws(UserRightsError) -> Int

    /// Uses an amount of a right if enough is left: atomic across processes and tasks.
    ///
    /// - Parameters:
    ///   - amount: the amount in the unit of the right; 0 is always granted.
    ///   - right: the right.
    ///   - publication: the source of the right, as for `used(_:of:)`.
    ///   - limit: the total limit.
    ///   - requestID: the request's identifier. A granted request that is repeated is granted and uses nothing; the last thousand
    ///     are known. Nil for a request that is never repeated.
    ///   - content: a digest of the request's content, such as the text to copy; nil if only the amount counts. Requests are the
    ///     same only if their content is.
    /// - Returns: whether it was granted. Once granted, the use is durable, even if the process or the machine crashes.
    /// - Throws: ``UserRightsError``; nothing was used, as far as the store knows.
    func use(
        _ amount: Int,
        of right: CountedRight,
        publication: String,
        limit: Int,
        requestID: String?,
        content: [UInt8]?
    ) async throws(UserRightsError) -> Bool
}

extension UserRightsStore {
    /// Uses some of a right for nothing but an amount, such as pages.
    ///
    /// - Parameters:
    ///   - amount: the amount, in the unit of the right.
    ///   - right: the right.
    ///   - publication: the source of the right, such as the id of a license.
    ///   - limit: the total that may be used.
    ///   - requestID: the id of the request, so that its repetition uses nothing; nil if it is never repeated.
    /// - Returns: true if the use is granted.
    /// - Throws: ``UserRightsError`` if the store fails.
    public func use(
        _ amount: Int,
        of right: CountedRight,
        publication: String,
        limit: Int,
        requestID: String?
    ) async throws(UserRightsError) -> Bool {
        try await use(amount, of: right, publication: publication, limit: limit, requestID: requestID, content: nil)
    }
}
