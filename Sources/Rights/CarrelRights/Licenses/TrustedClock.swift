// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJSON

/// The time for license evaluation: the service's signed time, the time since then, and a mark that never decreases.
///
/// Setting the wall clock back does not reactivate an expired license: the mark stores the latest time seen. Restoring a copy of
/// all files of a device also restores the mark; only the next contact with the service detects that, by its sequence numbers.
package struct TrustedClock: Sendable, Equatable {
    /// The last time that the service signed.
    package private(set) var signed: Instant?
    /// The boot and the time since it at which that came.
    private var boot = ""
    private var sinceBoot = Duration.zero
    /// The latest time that was seen.
    package private(set) var mark: Instant
    /// The boot of the mark, and the time since it: within that boot, the mark advances with the kernel's clock.
    private var markBoot = ""
    private var markSinceBoot = Duration.zero

    /// How far the wall clock may be before the mark.
    package static let tolerance = Duration.seconds(300)
    /// A wall clock that is further ahead of the mark does not move it, as it may be wrong.
    package static let leap = Duration.seconds(31 * 86_400)

    /// A clock that has seen nothing yet.
    package init() { mark = Instant(milliseconds: 0) }

    /// How sure a reading is.
    package enum Certainty: String, Sendable {
        /// The service signed it in this boot.
        case signed
        /// The wall clock, which is not before the mark.
        case estimated
        /// The wall clock, which is far ahead of the mark: get the time from the service before something expires by it.
        case farAhead = "far-ahead"
        /// The wall clock was set back: time-limited rights wait for the service.
        case rolledBack = "rolled-back"
        /// No clock can be read: time-limited rights have ended.
        case unreadable
    }

    /// The time, and how sure it is.
    package struct Reading: Sendable, Equatable {
        package let instant: Instant
        package let certainty: Certainty

        package init(instant: Instant, certainty: Certainty) {
            self.instant = instant
            self.certainty = certainty
        }
    }

    /// Takes a time that the service signed. It is used even if it is before the mark: a wall clock that ran ahead is corrected.
    /// The clock is never set back before an earlier signed time of the same boot.
    ///
    /// - Parameters:
    ///   - time: the signed time.
    ///   - host: the clocks before the request was sent, because the response may have been delayed.
    package mutating func take(_ time: Instant, on host: HostClock) {
        guard let since = host.sinceBoot, host.isReadable else { return }
        let time = max(time, signedNow(on: host) ?? time)
        (signed, boot, sinceBoot, mark) = (time, host.bootID, since, time)
        (markBoot, markSinceBoot) = (boot, sinceBoot)
    }

    /// Moves the mark to a time that the service signed at an unknown moment, such as in a file.
    package mutating func raise(to time: Instant, on host: HostClock) {
        mark = max(markNow(on: host), time)
        guard let since = host.sinceBoot, host.isReadable else { return }
        (markBoot, markSinceBoot) = (host.bootID, since)
    }

    /// The time now.
    package func read(on host: HostClock) -> Reading {
        guard host.isReadable else { return Reading(instant: mark, certainty: .unreadable) }
        let floor = markNow(on: host)
        if let now = signedNow(on: host) { return Reading(instant: max(now, floor), certainty: .signed) }
        if host.wall + Self.tolerance < floor { return Reading(instant: floor, certainty: .rolledBack) }
        let isFar = floor.milliseconds > 0 && host.wall > floor + Self.leap
        return Reading(instant: max(host.wall, floor), certainty: isFar ? .farAhead : .estimated)
    }

    /// Moves the mark to the time now, before anything is decided by it. A wall clock that is far ahead does not move it.
    package mutating func advance(on host: HostClock) {
        let reading = read(on: host)
        // The time since the last reading is added, whatever the wall clock shows.
        mark = markNow(on: host)
        switch reading.certainty {
        case .signed, .estimated: mark = max(mark, reading.instant)
        case .farAhead, .rolledBack, .unreadable: break
        }
        guard let since = host.sinceBoot, host.isReadable else { return }
        (markBoot, markSinceBoot) = (host.bootID, since)
    }

    /// Whether the mark advances with the clock of this boot: only after ``advance(on:)`` was stored once in it.
    package func isAnchored(on host: HostClock) -> Bool { host.bootID == markBoot }

    /// The mark, plus the time since in the same boot.
    private func markNow(on host: HostClock) -> Instant {
        guard let since = host.sinceBoot, host.isReadable, host.bootID == markBoot, since >= markSinceBoot else { return mark }
        return mark + (since - markSinceBoot)
    }

    /// The signed time plus the time since; nil after another boot, or if the time since the boot decreased.
    private func signedNow(on host: HostClock) -> Instant? {
        guard let signed, let since = host.sinceBoot, host.bootID == boot, since >= sinceBoot else { return nil }
        return signed + (since - sinceBoot)
    }

    package var json: JSON {
        [
            "signed": signed.map { .integer($0.milliseconds) } ?? .null, "boot": .string(boot),
            "since": .integer((Instant(milliseconds: 0) + sinceBoot).milliseconds), "mark": .integer(mark.milliseconds),
            "markBoot": .string(markBoot), "markSince": .integer((Instant(milliseconds: 0) + markSinceBoot).milliseconds),
        ]
    }

    /// - Throws: `rights.malformed`.
    package init(_ json: JSON) throws(RightsError) {
        guard let boot = json["boot"]?.string, let since = json["since"]?.int, let mark = json["mark"]?.int else {
            throw RightsError(.malformed, "the clock's state cannot be read")
        }
        self.boot = boot
        sinceBoot = .milliseconds(since)
        self.mark = Instant(milliseconds: Int64(mark))
        markBoot = json["markBoot"]?.string ?? ""
        markSinceBoot = .milliseconds(json["markSince"]?.int ?? 0)
        signed = json["signed"]?.int.map { Instant(milliseconds: Int64($0)) }
    }
}
