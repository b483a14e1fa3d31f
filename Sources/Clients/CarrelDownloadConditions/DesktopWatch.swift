// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads

/// The work of the thread that watches the bus.
struct DesktopWatch: Sendable {
    private let address: String?
    private let limits: BusLimits
    private let stop: StopEvent
    private let report: @Sendable (Conditions) -> Void

    init(address: String?, _ limits: BusLimits, _ stop: StopEvent, report: @escaping @Sendable (Conditions) -> Void) {
        self.address = address
        self.limits = limits
        self.stop = stop
        self.report = report
    }

    /// Reports until the consumer ends.
    func run() {
        var last: Conditions?
        while true {
            if var bus = BusConnection.open(address, limits.reply) {
                if watch(&bus, &last) { return }
            }
            tell(Conditions(), &last)
            if stop.wait(orReadable: nil, limits.pause) { return }
        }
    }

    /// Watches a connection.
    ///
    /// - Returns: whether the consumer ended; otherwise the connection is lost.
    private func watch(_ bus: inout BusConnection, _ last: inout Conditions?) -> Bool {
        // changes between the subscription and the first reading are in the queue
        for service in DesktopService.allCases { bus.subscribe(to: service) }
        tell(read(&bus), &last)
        while bus.isConnected {
            // signals that came during a reading are in the queue, and do not make the file readable
            if bus.takeSignals() {
                tell(read(&bus), &last)
                if stop.wait(orReadable: nil, limits.rest) { return true }
            } else if stop.wait(orReadable: bus.descriptor) {
                return true
            }
        }
        return false
    }

    private func tell(_ conditions: Conditions, _ last: inout Conditions?) {
        guard conditions != last else { return }
        last = conditions
        report(conditions)
    }

    private func read(_ bus: inout BusConnection) -> Conditions {
        let network = bus.properties(of: .networkManager, "/org/freedesktop/NetworkManager", "org.freedesktop.NetworkManager")
        let power = bus.properties(of: .power, "/org/freedesktop/UPower", "org.freedesktop.UPower")
        // a machine without UPower has no battery to read either
        let battery =
            power["OnBattery"] == nil
            ? [:]
            : bus.properties(of: .power, "/org/freedesktop/UPower/devices/DisplayDevice", "org.freedesktop.UPower.Device")
        return Conditions(network: Self.network(network), charging: Self.charging(power, battery))
    }

    /// The state of the network.
    ///
    /// - Parameter properties: of the object of NetworkManager.
    /// - Returns: the state; unknown without properties.
    static func network(_ properties: [String: UInt32]) -> Conditions.Network {
        // NM_STATE_ASLEEP 10, DISCONNECTED 20, DISCONNECTING 30, CONNECTING 40, CONNECTED_LOCAL 50
        if let state = properties["State"], 10...50 ~= state { return .none }
        // NM_CONNECTIVITY_NONE, PORTAL: a sign-in page answers instead of the servers
        if let connectivity = properties["Connectivity"], 1...2 ~= connectivity { return .none }
        return switch properties["Metered"] {
        case 1, 3: .metered  // YES, GUESS_YES
        case 2, 4: .unmetered  // NO, GUESS_NO
        default: .unknown
        }
    }

    /// The state of the power supply.
    ///
    /// - Parameters:
    ///   - power: properties of the object of UPower.
    ///   - battery: properties of its display device.
    /// - Returns: the state; unknown without properties.
    static func charging(_ power: [String: UInt32], _ battery: [String: UInt32]) -> Conditions.Charging {
        guard let isOnBattery = power["OnBattery"] else { return .unknown }
        guard isOnBattery == 0 else { return .no }
        // a supply that is too weak: the battery drains (2) or is empty (3) although it is connected
        let isDraining = battery["IsPresent"] != 0 && [2, 3].contains(battery["State"] ?? 0)
        return isDraining ? .no : .yes
    }
}
