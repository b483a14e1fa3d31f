// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON

/// The outcome of the use of a counted right, such as copying.
package enum RightUse: Sendable {
    /// It is granted, and counted on the disk.
    case granted
    /// Less than that is left, or the license is gone.
    case refused
    /// The request was made before, for something else.
    case differentRequest
}

/// How much of the counted rights of a license was used: a part of its sealed row, so that no count is lost without its license.
struct UsedRights: Sendable, Equatable {
    private struct Use: Sendable, Equatable {
        var amount = 0
        /// The last requests, the newest last: a digest of the id, and one of the amount and the content.
        var requests: [String] = []
    }

    private var uses: [String: Use] = [:]
    /// Whether the counts cannot be read: everything counts as used.
    private var isLost = false

    /// Counts that cannot be read.
    static let lost: UsedRights = {
        var rights = UsedRights()
        rights.isLost = true
        return rights
    }()

    /// Requests of one right that are remembered.
    private static let requestLimit = 1000

    /// The used amount of a right.
    func amount(of right: String) -> Int { isLost ? .max : uses[right]?.amount ?? 0 }

    /// Uses an amount of a right, if enough is left. A granted request that is repeated uses nothing.
    ///
    /// - Parameters:
    ///   - amount: the amount, not negative.
    ///   - right: the right.
    ///   - limit: the total limit.
    ///   - requestID: the request's id; nil for a request that is never repeated.
    ///   - content: a digest of the request's content; nil if only the amount counts.
    /// - Returns: the outcome.
    mutating func use(_ amount: Int, of right: String, limit: Int, requestID: String?, content: [UInt8]?) -> RightUse {
        guard !isLost else { return .refused }
        var use = uses[right] ?? Use()
        let id = requestID.map { Self.digest(Array($0.utf8), count: 16) + "." }
        let request = id.map { $0 + Self.digest(Array("\(amount)\n".utf8) + (content ?? []), count: 8) }
        if let id, let known = use.requests.first(where: { $0.hasPrefix(id) }) {
            return known == request ? .granted : .differentRequest
        }
        guard amount >= 0, use.amount <= limit, amount <= limit - use.amount else { return .refused }
        use.amount += amount
        if let request {
            use.requests.append(request)
            if use.requests.count > Self.requestLimit { use.requests.removeFirst() }
        }
        uses[right] = use
        return .granted
    }

    private static func digest(_ bytes: [UInt8], count: Int) -> String {
        Base64URL.encode(SHA256.hash(bytes.rawSpan).prefix(count))
    }

    /// The counts for a row; nil if nothing was used.
    var json: JSON? {
        if isLost { return .string("lost") }
        if uses.isEmpty { return nil }
        var object: JSONObject = [:]
        for (right, use) in uses {
            object[right] = ["amount": .integer(use.amount), "requests": .array(use.requests.map { .string($0) })]
        }
        return .object(object)
    }

    init() {}

    /// - Parameter json: the counts; nil if nothing was used.
    /// - Throws: `player.store-damaged`.
    init(_ json: JSON?) throws(PlayerError) {
        guard let json else { return }
        if json.string == "lost" {
            self = .lost
            return
        }
        guard let object = json.object else { throw RowSeal.damaged }
        for (right, use) in object {
            guard let amount = use["amount"]?.int, let requests = use["requests"]?.array else { throw RowSeal.damaged }
            uses[right] = Use(amount: amount, requests: requests.compactMap(\.string))
        }
    }
}
