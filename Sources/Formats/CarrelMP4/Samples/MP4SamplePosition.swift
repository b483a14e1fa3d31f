// SPDX-License-Identifier: Apache-2.0

/// A position among the samples that a movie lists for a track, from which a walk can continue: the next sample's position in
/// each table.
///
/// It takes about 150 bytes, and holds no part of the tables.
package struct MP4SamplePosition: Sendable {
    /// A place in a table of runs: the next entry, and the samples that the one before it still has.
    struct Run: Sendable {
        var index: UInt32 = 0
        var remaining: UInt32 = 0
        var value: Int64 = 0
    }

    /// A place in the auxiliary information and the sample groups of Common Encryption.
    struct Auxiliary: Sendable {
        var sample: UInt32 = 0
        var offset: Int64 = 0
        var part: UInt32 = 0
        var group = Run()
    }

    var sample: UInt32 = 0
    var durations = Run()
    var compositions = Run()
    var chunk: UInt32 = 0
    var samplesLeft: UInt32 = 0
    var offset: Int64 = 0
    var decodeTime: Int64 = 0
    var run: UInt32 = 0
    var runEnd: UInt32? = 0
    var samplesPerChunk: UInt32 = 0
    var entry: UInt32 = 0
    var syncIndex: UInt32 = 0
    var nextSync: UInt32 = 0
    var startsChunk = false
    var auxiliary = Auxiliary()
}

extension MP4SamplePosition {
    /// The first sample.
    package static var first: MP4SamplePosition { MP4SamplePosition() }
}
