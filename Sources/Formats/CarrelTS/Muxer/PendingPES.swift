// SPDX-License-Identifier: Apache-2.0

/// Frames that wait for others to share their PES packet.
struct PendingPES: Sendable {
    var data: [UInt8] = []
    var presentationTime: Int64 = 0
    /// The time of the frame added last.
    var lastTime: Int64 = 0

    /// The section written last, of a stream of sections.
    var section: TableSection?

    /// Bytes that one PES packet with a timestamp may hold.
    static let capacity = 65_535 - 8

    /// Whether a frame fits into the same PES packet.
    ///
    /// - Parameters:
    ///   - count: the size of the frame in bytes.
    ///   - time: its time.
    ///   - limit: maximum number of ticks between the first frame and the end of the last, if that is as long as the previous
    ///     ones.
    /// - Returns: false if the frame starts a new PES packet.
    func takes(_ count: Int, at time: Int64, limit: Int64) -> Bool {
        guard !data.isEmpty else { return true }
        let end = time &+ (time &- lastTime)
        return data.count + count <= 16_000 && time > lastTime && end &- presentationTime <= limit
    }
}
