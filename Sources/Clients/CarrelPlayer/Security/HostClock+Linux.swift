// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelRights
import Glibc

extension HostClock {
    /// The clocks of this machine: the given wall clock, and the kernel's time since the boot (clock_gettime(2), random(4)).
    package static func current(_ wall: any WallClock) -> HostClock {
        var time = timespec()
        let isRead = unsafe clock_gettime(CLOCK_BOOTTIME, &time) == 0
        let since: Duration? = isRead ? .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec) : nil
        return HostClock(wall: wall.now, bootID: bootID, sinceBoot: since)
    }

    /// The ID of this boot; empty if the kernel does not provide one.
    private static let bootID: String = {
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, unsafe read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes.prefix { $0 != 0x0a }, as: UTF8.self)
    }()
}
