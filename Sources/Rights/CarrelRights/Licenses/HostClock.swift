// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The clocks of a device at one moment. The wall clock can be set; the time since the boot cannot.
package struct HostClock: Sendable, Equatable {
    package let wall: Instant
    /// The ID of the boot (/proc/sys/kernel/random/boot_id); empty if it cannot be read.
    package let bootID: String
    /// Time since the boot, including sleep; nil if it cannot be read.
    package let sinceBoot: Duration?

    package init(wall: Instant, bootID: String, sinceBoot: Duration?) {
        self.wall = wall
        self.bootID = bootID
        self.sinceBoot = sinceBoot
    }

    /// Whether both clocks can be read.
    var isReadable: Bool { sinceBoot != nil && !bootID.isEmpty }
}
