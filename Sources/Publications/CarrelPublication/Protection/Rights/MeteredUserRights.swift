// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto

/// Rights in a limited amount, counted in a store, such as the rights of a license.
///
/// If the store fails, the right is denied.
public struct MeteredUserRights: UserRights {
    private let publication: String
    private let limits: [CountedRight: Int]
    private let store: any UserRightsStore

    /// Creates rights that are counted in a store.
    ///
    /// - Parameters:
    ///   - publication: the source of the rights, such as the identifier of a license.
    ///   - copy: the total number of Unicode scalars that may be copied; nil if unlimited. Negative numbers count as 0.
    ///   - print: the total number of pages that may be printed; nil if unlimited.
    ///   - store: stores the usage.
    public init(publication: String, copy: Int?, print: Int?, store: any UserRightsStore) {
        self.publication = publication
        var limits: [CountedRight: Int] = [:]
        limits[.copy] = copy
        limits[.print] = print
        self.limits = limits
        self.store = store
    }

    /// The remaining amount of a right.
    ///
    /// - Parameter right: the right.
    /// - Returns: the amount in the unit of the right; nil if unlimited.
    /// - Throws: ``UserRightsError``.
    public func remaining(_ right: CountedRight) async throws(UserRightsError) -> Int? {
        guard let limit = limits[right] else { return nil }
        return max(0, limit - min(try await store.used(right, of: publication), max(0, limit)))
    }

    public var isUnlimited: Bool { limits.isEmpty }

    public var canCopy: Bool { get async { await has(1, .copy) } }
    public func canCopy(_ text: String) async -> Bool { await has(CountedRight.cost(ofCopying: text), .copy) }
    public func copy(_ text: String, requestID: String?) async -> Bool {
        await use(CountedRight.cost(ofCopying: text), .copy, requestID, requestID.map { Self.digest(of: text, for: $0) })
    }

    /// Binds a request to its text. With the request's name in it, the same text of two requests has two digests.
    private static func digest(of text: String, for requestID: String) -> [UInt8] {
        var hash = SHA256.Stream()
        for part in ["\(requestID.utf8.count):", requestID, text] {
            let bytes = Array(part.utf8)
            hash.update(bytes.rawSpan)
        }
        return hash.finish()
    }

    public var canPrint: Bool { get async { await has(1, .print) } }
    public func canPrint(pageCount: Int) async -> Bool {
        guard pageCount > 0 else { return false }
        return await has(pageCount, .print)
    }
    public func print(pageCount: Int, requestID: String?) async -> Bool {
        guard pageCount > 0 else { return false }
        return await use(pageCount, .print, requestID, nil)
    }

    private func has(_ amount: Int, _ right: CountedRight) async -> Bool {
        do throws(UserRightsError) {
            guard let remaining = try await remaining(right) else { return true }
            return amount <= remaining
        } catch {
            return false
        }
    }

    private func use(_ amount: Int, _ right: CountedRight, _ requestID: String?, _ content: [UInt8]?) async -> Bool {
        guard let limit = limits[right] else { return true }
        do throws(UserRightsError) {
            return try await store.use(
                amount,
                of: right,
                publication: publication,
                limit: limit,
                requestID: requestID,
                content: content
            )
        } catch {
            return false
        }
    }
}
