// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The clocks of a device at one moment. The wall clock can be set; the time since the boot cannot.
package struct HostClock: Sendable, Equatable {
    package let wall: Instant
    /// Names the boot (/proc/sys/kernel/random/boot_id); empty where it cannot be read.
    package let bootID: String
    /// Time since the boot, with that in sleep; nil where it cannot be read.
    package let sinceBoot: Duration?

    package init(wall: Instant, bootID: String, sinceBoot: Duration?) {
        self.wall = wall
        self.bootID = bootID
        self.sinceBoot = sinceBoot
    }

    /// Whether both clocks can be read.
    var isReadable: Bool { sinceBoot != nil && !bootID.isEmpty }
}
