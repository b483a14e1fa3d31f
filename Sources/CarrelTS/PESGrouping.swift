/// Chooses how many frames go into the next PES packet.
///
/// Frames are never split between PES packets, and a PES packet starts on a transport packet of its own, so the last transport
/// packet of each is stuffed. The grouping is offered frame after frame, up to a third of a second, and keeps the count that costs
/// least. The same frames always group in the same way, so an index may keep packet counts and trust them.
public struct PESGrouping: Sendable {
    /// Names the choice this code makes: a number that changes whenever the same frames would group differently.
    public static let version: UInt8 = 1
    /// Most bytes of frames in one PES packet, unless it holds a single longer frame.
    public static let maximumData = 16_000

    @usableFromInline
    let ticksPerFrame: Int
    @usableFromInline
    let ticksPerClock: Int
    @usableFromInline
    let maximumFrames: Int
    @usableFromInline
    var offered = Group()
    @usableFromInline
    var clockReach = 0
    @usableFromInline
    var best = Group()

    /// A number of frames with what they take.
    @usableFromInline
    struct Group: Sendable {
        @usableFromInline
        var frames = 0
        @usableFromInline
        var bytes = 0
        @usableFromInline
        var clocks = 0
        @usableFromInline
        var packets = 0

        @inlinable
        init() {}
    }

    /// - Parameters:
    ///   - samplesPerFrame: samples of each channel in one frame.
    ///   - sampleRate: samples per second.
    public init(samplesPerFrame: Int, sampleRate: Int) {
        ticksPerFrame = samplesPerFrame * PESLayout.clocksPerSecond
        ticksPerClock = sampleRate
        maximumFrames = max(1, sampleRate * 35 / (samplesPerFrame * 100))
    }

    /// Frames in the cheapest group so far.
    @inlinable
    public var frameCount: Int { best.frames }

    /// Their bytes.
    @inlinable
    public var byteCount: Int { best.bytes }

    /// Transport packets they take.
    @inlinable
    public var packetCount: Int { best.packets }

    /// Offers the next frame by its length in bytes.
    ///
    /// - Returns: false when the group is full without it: the choice is made, and the frames after it begin the next group.
    @inlinable
    public mutating func offer(_ length: Int) -> Bool {
        let bytes = offered.bytes &+ length
        guard offered.frames < maximumFrames, bytes <= Self.maximumData || offered.frames == 0 else { return false }
        offered.frames &+= 1
        offered.bytes = bytes
        let reach = offered.frames &* ticksPerFrame
        while clockReach < reach {
            offered.clocks &+= 1
            clockReach &+= ticksPerClock
        }
        offered.packets = PESLayout.packetCount(dataLength: bytes, clockCount: offered.clocks)
        if best.frames == 0 || offered.packets &* best.bytes <= best.packets &* bytes { best = offered }
        return true
    }

    /// Forgets the group and begins the next one.
    @inlinable
    public mutating func startNext() {
        offered = Group()
        best = Group()
        clockReach = 0
    }
}
