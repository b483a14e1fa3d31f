// SPDX-License-Identifier: Apache-2.0

/// Chooses how many frames to put into the next PES packet.
///
/// Frames are never split between PES packets, and a PES packet starts on a new transport packet, so the last transport packet of
/// each is stuffed. The grouping gets frame after frame, up to a third of a second, and keeps the cheapest count. The same frames
/// are always grouped in the same way, so an index may store packet counts and rely on them.
public struct PESGrouping: Sendable {
    /// Names the choice this code makes: a number that changes whenever the same frames would group differently.
    package static let version: UInt8 = 1
    /// Most bytes of frames in one PES packet, unless it holds a single longer frame.
    public static let maximumData = 16_000

    @usableFromInline
    let ticksPerFrame: Int
    @usableFromInline
    let ticksPerClock: Int
    @usableFromInline
    let maximumFrames: Int
    /// Fewer frames are taken only when there are no more, or they are long: they would never be the cheapest.
    @usableFromInline
    let minimumFrames: Int
    @usableFromInline
    var offeredFrames = 0
    @usableFromInline
    var offeredBytes = 0
    @usableFromInline
    var bestFrames = 0
    @usableFromInline
    var bestBytes = 0
    @usableFromInline
    var bestPackets = 0

    /// - Parameters:
    ///   - samplesPerFrame: samples of each channel in one frame.
    ///   - sampleRate: samples per second.
    package init(samplesPerFrame: Int, sampleRate: Int) {
        ticksPerFrame = samplesPerFrame * PESLayout.clocksPerSecond
        ticksPerClock = sampleRate
        maximumFrames = max(1, sampleRate * 35 / (samplesPerFrame * 100))
        minimumFrames = (maximumFrames + 1) / 2
    }

    /// Frames in the cheapest group so far.
    @inlinable
    public var frameCount: Int { offeredFrames < minimumFrames ? offeredFrames : bestFrames }

    /// Their bytes.
    @inlinable
    public var byteCount: Int { offeredFrames < minimumFrames ? offeredBytes : bestBytes }

    /// Transport packets they take.
    @inlinable
    public var packetCount: Int {
        offeredFrames < minimumFrames
            ? PESLayout.packetCount(dataLength: offeredBytes, clockCount: clockCount(frames: offeredFrames)) : bestPackets
    }

    /// Offers the next frame by its length in bytes.
    ///
    /// - Returns: false if the group is full without it: the choice is made, and the frames after it begin the next group.
    @inlinable
    @inline(__always)
    public mutating func offer(_ length: Int) -> Bool {
        let bytes = offeredBytes &+ length
        guard offeredFrames < maximumFrames, bytes <= Self.maximumData || offeredFrames == 0 else { return false }
        offeredFrames &+= 1
        offeredBytes = bytes
        if offeredFrames >= minimumFrames { weigh() }
        return true
    }

    /// Compares the offered grouping with the best.
    @inlinable
    mutating func weigh() {
        let packets = PESLayout.packetCount(dataLength: offeredBytes, clockCount: clockCount(frames: offeredFrames))
        if offeredFrames == minimumFrames || packets &* bestBytes <= bestPackets &* offeredBytes {
            bestFrames = offeredFrames
            bestBytes = offeredBytes
            bestPackets = packets
        }
    }

    /// Clock references that this many frames need.
    @inlinable
    func clockCount(frames: Int) -> Int {
        Int(UInt32(truncatingIfNeeded: frames &* ticksPerFrame &+ ticksPerClock &- 1) / UInt32(truncatingIfNeeded: ticksPerClock))
    }

    /// Forgets the group and begins the next one.
    @inlinable
    public mutating func startNext() {
        offeredFrames = 0
        offeredBytes = 0
    }
}
