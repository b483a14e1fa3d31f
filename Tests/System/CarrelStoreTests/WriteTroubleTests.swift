// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import Testing

/// Health checks of a database that refused writes.
struct `Trouble with writes` {
    private let now = ContinuousClock.now

    @Test func `of a full disk ends with the next write, and by itself half a minute after the last`() {
        var trouble = WriteTrouble()
        trouble.note(StoreError(.full, "no room"), at: now)
        #expect(trouble.current(at: now + .seconds(29))?.code == .full)
        #expect(trouble.current(at: now + .seconds(30)) == nil)
        trouble.note(StoreError(.full, "no room"), at: now + .seconds(30))
        #expect(trouble.current(at: now + .seconds(59))?.code == .full)
        trouble.end()
        #expect(trouble.current(at: now + .seconds(31)) == nil)
    }

    @Test func `of a database without writes lasts until the engine takes them`() {
        var trouble = WriteTrouble()
        trouble.note(StoreError(.readOnly, "a standby"), at: now)
        #expect(trouble.current(at: now + .seconds(3600))?.code == .readOnly)
        trouble.endReadOnly()
        #expect(trouble.current(at: now) == nil)
    }

    @Test func `is none for a failure that concerns one write`() {
        var trouble = WriteTrouble()
        trouble.note(StoreError(.unique, "a row"), at: now)
        #expect(trouble.current(at: now) == nil)
    }
}
