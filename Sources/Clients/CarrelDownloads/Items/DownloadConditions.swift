// SPDX-License-Identifier: Apache-2.0

/// The network and the power supply of this machine.
public struct Conditions: Sendable, Hashable, CustomStringConvertible {
    /// The connection to the network.
    public enum Network: String, Sendable, Hashable, CaseIterable {
        /// There is no connection.
        case none
        /// The connection is paid by volume, or may be.
        case metered
        /// The connection is not paid by volume.
        case unmetered
        /// There may be a connection; counts as metered.
        case unknown
    }

    /// Whether the machine has external power.
    public enum Charging: String, Sendable, Hashable, CaseIterable {
        /// It has, and its battery is not draining.
        case yes
        /// It runs on its battery.
        case no
        /// Counts as not charging.
        case unknown
    }

    /// The connection to the network.
    public var network: Network
    /// Whether the machine has external power.
    public var charging: Charging

    /// Creates conditions.
    ///
    /// - Parameters:
    ///   - network: the connection to the network.
    ///   - charging: whether the machine has external power.
    public init(network: Network = .unknown, charging: Charging = .unknown) {
        self.network = network
        self.charging = charging
    }

    /// Both values, such as `network unmetered, charging yes`.
    public var description: String { "network \(network.rawValue), charging \(charging.rawValue)" }
}

/// A source of ``Conditions``.
public protocol DownloadConditions: Sendable {
    /// Returns the conditions now, and then each change.
    ///
    /// - Returns: the values; the stream ends only if its consumer ends it.
    func changes() -> AsyncStream<Conditions>
}

/// Conditions that are not known, for machines without a source of them.
public struct UnknownConditions: DownloadConditions {
    /// Creates the source.
    public init() {}

    public func changes() -> AsyncStream<Conditions> {
        let (values, continuation) = AsyncStream<Conditions>.makeStream()
        continuation.yield(Conditions())
        return values
    }
}
