// SPDX-License-Identifier: Apache-2.0

/// The conditions under which an item is transferred; otherwise it waits.
public struct DownloadRequirements: Sendable, Hashable {
    /// The network that an item needs.
    public enum Network: String, Sendable, Hashable, CaseIterable {
        /// Transfers start whatever is known about the network.
        case unchecked
        /// Any network.
        case any
        /// A network that is not paid by volume; an unknown one counts as paid.
        case unmetered
    }

    /// The requirement that an item waits for.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// A network.
        case network
        /// A network that is not paid by volume.
        case unmeteredNetwork = "unmetered-network"
        /// External power.
        case charging
        /// Room on the disk.
        case freeSpace = "free-space"
    }

    /// The network that the item needs.
    public var network = Network.unchecked
    /// Whether the machine must have external power; unknown counts as none.
    public var needsCharging = false
    /// Bytes that must be free on the disk; 0 for no requirement.
    public var freeSpace: Int64 = 0

    /// Creates the defaults: no requirement.
    public init() {}

    /// The first requirement that is not met.
    ///
    /// - Parameters:
    ///   - conditions: the conditions now.
    ///   - freeSpace: bytes that are free on the disk.
    /// - Returns: the requirement; nil if all are met.
    public func unmet(_ conditions: Conditions, freeSpace: Int64) -> Reason? {
        switch (network, conditions.network) {
        case (.unchecked, _): break
        case (_, .none): return .network
        case (.unmetered, .metered), (.unmetered, .unknown): return .unmeteredNetwork
        default: break
        }
        if needsCharging, conditions.charging != .yes { return .charging }
        return freeSpace < self.freeSpace ? .freeSpace : nil
    }
}
