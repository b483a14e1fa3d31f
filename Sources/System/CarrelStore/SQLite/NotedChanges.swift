// SPDX-License-Identifier: Apache-2.0

/// Whose rows a connection changed.
final class NotedChanges {
    private var keys: Set<String> = []
    private var isAny = false
    /// As many keys are noted one by one.
    private let limit = 1000

    func add(_ key: String?) {
        guard !isAny else { return }
        if let key { keys.insert(key) }
        if key == nil || keys.count > limit {
            isAny = true
            keys = []
        }
    }

    /// The changes noted since the last call; nil when there are none.
    func take() -> RowChangeObserver.Changes? {
        guard isAny || !keys.isEmpty else { return nil }
        defer {
            keys = []
            isAny = false
        }
        return isAny ? .any : .of(Array(keys))
    }
}
