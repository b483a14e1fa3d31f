// SPDX-License-Identifier: Apache-2.0

public import CarrelDownloads
import CarrelThreads

/// The conditions of a Linux desktop: the network by NetworkManager, the power supply by UPower, both on the system bus.
///
/// A value whose service does not answer within two seconds is unknown. Without a bus all values are unknown, and the bus is tried
/// again every ten seconds. Neither service is asked for anything but its properties.
///
/// Source: NetworkManager D-Bus API (`State`, `Connectivity`, `Metered`), UPower D-Bus API (`OnBattery`, `State` of the display
/// device), D-Bus specification (`org.freedesktop.DBus.Properties`).
public struct DesktopConditions: DownloadConditions {
    private let address: String?
    private let limits: BusLimits

    /// Creates the source; nothing is connected before `changes()`.
    ///
    /// - Parameter address: the address of the bus, such as `unix:path=/run/dbus/system_bus_socket`; nil for the system bus, whose address
    ///   the variable `DBUS_SYSTEM_BUS_ADDRESS` may replace.
    public init(address: String? = nil) {
        self.init(address: address, BusLimits())
    }

    init(address: String?, _ limits: BusLimits) {
        self.address = address
        self.limits = limits
    }

    /// Returns the conditions now, and then each change. A thread with a connection of its own runs until the consumer ends.
    ///
    /// - Returns: the values; only the newest is kept for a slow consumer.
    public func changes() -> AsyncStream<Conditions> {
        let (values, continuation) = AsyncStream<Conditions>.makeStream(bufferingPolicy: .bufferingNewest(1))
        guard let stop = StopEvent() else {
            continuation.yield(Conditions())
            return values
        }
        continuation.onTermination = { _ in stop.signal() }
        let watch = DesktopWatch(address: address, limits, stop) { continuation.yield($0) }
        do throws(ThreadRefused) {
            try ThreadStarter.system.start(name: "conditions") { watch.run() }
        } catch {
            continuation.yield(Conditions())
        }
        return values
    }
}
