// SPDX-License-Identifier: Apache-2.0

/// Remembers how much of the counted rights of publications has been used, for good.
public protocol UserRightsStore: Sendable {
    /// How much of a right has been used.
    ///
    /// - Parameters:
    ///   - right: which one.
    ///   - publication: names the source of the right, such as a license.
    /// - Returns: 0 when nothing was used yet.
    /// - Throws: `rights.unavailable`.
    func used(_ right: CountedRight, of publication: String) async throws(UserRightsError) -> Int

    /// Uses some of a right if that much is left: one step, which no other process and no other task can come between.
    ///
    /// - Parameters:
    ///   - amount: in the unit of the right; 0 is always granted.
    ///   - right: which one.
    ///   - publication: as for `used(_:of:)`.
    ///   - limit: how much may be used altogether.
    ///   - requestID: names the request. One that was granted and comes again is granted and uses nothing; the last
    ///     thousand are known. Nil for one that is never repeated.
    ///   - content: a digest of what the request is for, such as of the text to copy; nil where the amount is all there is. Only a request for the
    ///     same is the same request.
    /// - Returns: whether it was granted. Once this says so, the use is kept, whatever happens to the process or the machine.
    /// - Throws: ``UserRightsError``; nothing was used then, as far as the store can tell.
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
