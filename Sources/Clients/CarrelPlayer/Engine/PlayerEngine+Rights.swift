// SPDX-License-Identifier: Apache-2.0

extension PlayerEngine {
    /// The used amount of a counted right of a license, such as copied characters.
    ///
    /// - Parameters:
    ///   - right: the name of the right.
    ///   - license: the license's id.
    /// - Returns: the amount.
    /// - Throws: `player.no-license` without the license; `player.store`, `player.store-damaged`.
    package func usedAmount(of right: String, license: String) async throws(PlayerError) -> Int {
        if let stream = streams[license] { return stream.rights.amount(of: right) }
        guard let row = try await licenses().row(license) else { throw PlayerError(.noLicense, "the license was removed") }
        return row.rights.amount(of: right)
    }

    /// Uses an amount of a counted right of a license, if enough is left. The count is on the disk before this returns, in the sealed
    /// row of the license, and outlives the license's removal.
    ///
    /// - Parameters:
    ///   - amount: the amount, not negative.
    ///   - right: the name of the right.
    ///   - license: the license's id.
    ///   - limit: the total limit.
    ///   - requestID: the request's id: its repetition uses nothing; nil if it is never repeated.
    ///   - content: a digest of the request's content; nil if only the amount counts.
    /// - Returns: the outcome; refused if the license was removed.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func use(
        _ amount: Int,
        of right: String,
        license: String,
        limit: Int,
        requestID: String?,
        content: [UInt8]?
    ) async throws(PlayerError) -> RightUse {
        if streams[license] != nil {
            return streams[license]?.rights.use(amount, of: right, limit: limit, requestID: requestID, content: content)
                ?? .refused
        }
        return try await licenses().update(license) { row in
            let before = row?.rights
            let outcome = row?.rights.use(amount, of: right, limit: limit, requestID: requestID, content: content) ?? .refused
            return (row?.rights != before, outcome)
        }
    }
}
