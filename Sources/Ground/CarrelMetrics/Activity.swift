// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelThreads

/// Recent activity, for the charts of the administrator's page: counts for each of the last minutes and hours, in bounded memory.
/// A restart clears it; permanent records are in the audit log.
package final class Activity: Sendable {
    /// A kind of event that is counted.
    package enum Series: String, Sendable, CaseIterable {
        /// Readers' apps that signed in.
        case signIns
        /// People who signed in by a browser: with a password, by a link, at a provider, and as staff.
        case browserSignIns
        /// Players that were handed a key.
        case streams
        case segments
        /// Intervals of listening that were reported and are new.
        case positions
        /// Editions whose credentials were issued.
        case credentials
    }

    /// The resolution.
    package enum Step: String, Sendable, CaseIterable {
        case minute
        case hour

        var milliseconds: Int64 { self == .minute ? 60_000 : 3_600_000 }
        /// Three hours of minutes, two weeks of hours.
        package var slotCount: Int { self == .minute ? 180 : 336 }
    }

    /// The events of one minute or hour.
    package struct Slot: Sendable, Equatable {
        /// Its beginning.
        package var at: Instant
        fileprivate(set) package var counts: [Series: Int] = [:]
        /// The refusals, by a stable word for the reason.
        fileprivate(set) package var refusals: [String: Int] = [:]

        init(at: Instant) { self.at = at }
    }

    /// The number of distinct reasons in a slot; the others are combined.
    private static let reasonLimit = 32

    private let clock: any WallClock
    private let rings: Locked<Rings>

    /// The slots of each step, changed in place.
    private struct Rings {
        var minutes = Array(repeating: Slot(at: Instant(milliseconds: .min)), count: Step.minute.slotCount)
        var hours = Array(repeating: Slot(at: Instant(milliseconds: .min)), count: Step.hour.slotCount)

        subscript(step: Step) -> [Slot] {
            get { step == .minute ? minutes : hours }
            _modify {
                switch step {
                case .minute: yield &minutes
                case .hour: yield &hours
                }
            }
        }
    }

    package init(clock: any WallClock) {
        self.clock = clock
        rings = Locked(Rings())
    }

    package func count(_ series: Series, _ amount: Int = 1) {
        change { $0.counts[series, default: 0] += amount }
    }

    package func refuse(_ reason: String) {
        change { slot in
            let isKnown = slot.refusals[reason] != nil || slot.refusals.count < Self.reasonLimit
            slot.refusals[isKnown ? reason : "other", default: 0] += 1
        }
    }

    private func change(_ body: (inout Slot) -> Void) {
        let now = clock.now.milliseconds
        rings.withLock { rings in
            for step in Step.allCases {
                let number = now / step.milliseconds
                let index = Int(number % Int64(step.slotCount))
                let at = Instant(milliseconds: number * step.milliseconds)
                if rings[step][index].at != at { rings[step][index] = Slot(at: at) }
                body(&rings[step][index])
            }
        }
    }

    /// The last slots, the oldest first; the last slot is the current one.
    package func last(_ count: Int, by step: Step) -> [Slot] {
        let current = clock.now.milliseconds / step.milliseconds
        let rings = rings.withLock { $0 }
        return (0..<Int64(min(max(1, count), step.slotCount))).reversed().map { back in
            let at = Instant(milliseconds: (current - back) * step.milliseconds)
            let index = Int((current - back) % Int64(step.slotCount))
            let slot = rings[step][index]
            return slot.at == at ? slot : Slot(at: at)
        }
    }
}
