// SPDX-License-Identifier: Apache-2.0

/// The exchanges of a worker whose header is incomplete, to find the one that the library refuses.
///
/// The library reports a refusal without its connection. It reads the connections of a worker one after another: between the end
/// of a header and its request or its refusal it looks at no other. So among all awaited exchanges, only the refused one has its
/// complete header, provided that earlier refused ones were removed. A head leaves the set with its exchange, at the latest when
/// its connection closes: the library frees the connection then.
struct AwaitedHeads<Head: AnyObject> {
    private var heads: [Head] = []

    /// Notes that a header is on its way.
    mutating func add(_ head: Head) {
        heads.append(head)
    }

    /// The header has come, or never will.
    mutating func end(_ head: Head) {
        // Usually the last one.
        if let at = heads.lastIndex(where: { $0 === head }) { heads.remove(at: at) }
    }

    /// Ends the wait for the header that the library refuses.
    ///
    /// - Parameter isWhole: whether a header is complete.
    /// - Returns: the exchange that it belongs to; nil in doubt, and if it is incomplete.
    mutating func endRefused(_ isWhole: (Head) -> Bool) -> Head? {
        let whole = heads.filter(isWhole)
        heads.removeAll(where: isWhole)
        return whole.count == 1 ? whole.first : nil
    }
}
