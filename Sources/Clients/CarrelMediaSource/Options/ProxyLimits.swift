// SPDX-License-Identifier: Apache-2.0

package import CarrelThreads

/// The bounds of a proxy that tests make small.
package struct ProxyLimits: Sendable {
    /// Threads that all sessions share beyond two of each.
    package var sharedThreads = 128
    /// Segments that all sessions together hold open ahead of their players.
    package var openAhead = 128
    /// The longest time in which a manifest, a playlist, an index or a range of a file comes, however it drips.
    package var loadTime = Duration.seconds(60)
    /// Starts the threads that wait for files.
    package var threads = ThreadStarter.system

    /// The clock for pauses, time limits and reloads.
    package var clock = MonotonicClock.system

    package init() {}
}
