// SPDX-License-Identifier: Apache-2.0

internal import CarrelThreads

/// Buffers for bodies that are made in one piece, kept so that each response does not pay for fresh pages.
final class WriteBuffers: Sendable {
    /// Bytes of one buffer, and of a block of a longer body: a ten-second segment fits.
    static let size = 128 * 1024
    /// Idle buffers.
    private static let idleLimit = 16

    /// A buffer that libmicrohttpd holds until its response is sent.
    @safe
    final class Buffer: @unchecked Sendable {  // one holder at a time
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: WriteBuffers.size, alignment: 64)
        private let owner: WriteBuffers

        fileprivate init(_ owner: WriteBuffers) {
            self.owner = owner
        }

        deinit {
            unsafe bytes.deallocate()
        }

        /// The user of the buffer is done with it.
        func giveBack() {
            owner.give(self)
        }
    }

    private let free = Locked<[Buffer]>([])

    func take() -> Buffer {
        free.withLock { $0.popLast() } ?? Buffer(self)
    }

    /// Lets go of the buffers that are kept, which refer to this.
    func clear() {
        free.withLock { $0 = [] }
    }

    private func give(_ buffer: Buffer) {
        free.withLock { if $0.count < Self.idleLimit { $0.append(buffer) } }
    }
}
