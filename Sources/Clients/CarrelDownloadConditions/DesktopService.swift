// SPDX-License-Identifier: Apache-2.0

/// The services that are watched.
enum DesktopService: String, CaseIterable {
    case networkManager = "org.freedesktop.NetworkManager"
    case power = "org.freedesktop.UPower"

    /// Whether a call may start the service. UPower is started on demand; the network is the system's own matter.
    var mayStart: Bool { self == .power }
}
