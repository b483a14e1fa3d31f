// SPDX-License-Identifier: Apache-2.0

/// Events not yet taken, in order.
struct EventQueue: Sendable {
    private var events: [TransportStreamEvent] = []
    private var position = 0
    /// The byte of the stream at which the packet being read starts.
    var offset = 0

    mutating func append(_ event: TransportStreamEvent) {
        events.append(event)
    }

    mutating func report(_ kind: TransportStreamFault.Kind, pid: UInt16?) {
        events.append(.fault(TransportStreamFault(kind: kind, pid: pid, offset: offset)))
    }

    mutating func next() -> TransportStreamEvent? {
        guard position < events.count else {
            events.removeAll(keepingCapacity: true)
            position = 0
            return nil
        }
        defer { position += 1 }
        return events[position]
    }
}
