import Synchronization

/// A number that goes up and down.
public final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(0)

    init() {}

    /// Sets it.
    public func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    /// Adds to it, or takes away from it.
    public func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }

    /// What it is now.
    public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}
