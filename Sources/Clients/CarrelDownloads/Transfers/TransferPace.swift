// SPDX-License-Identifier: Apache-2.0

/// The times and margins of transfers, which tests change.
package struct TransferPace: Sendable {
    /// How often the transferring process reads the requests of other processes.
    package var poll = Duration.milliseconds(400)
    /// The first pause before a failed request is repeated; each further one is twice as long, up to ``longestPause``.
    package var firstPause = Duration.seconds(1)
    package var longestPause = Duration.seconds(60)
    /// Attempts for each piece whose failure is transient.
    package var attempts = 8
    /// Finished files wait for others to become durable together for this time at most.
    package var batchTime = Duration.milliseconds(250)
    /// The longest pause between two loads of an item's playlists.
    package var refreshPause = Duration.seconds(4)
    /// How often the licenses of complete items are checked for their renewal.
    package var renewal = Duration.seconds(60)
    /// A transfer of one piece that takes longer can continue in another process.
    package var partialTime = Duration.seconds(2)

    /// Bytes of the disk that stay free.
    package var margin: Int64 = 16 << 20

    package init() {}
}
