// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelThreads
import Glibc

/// Memory for secrets: its own pages, left out of core dumps.
///
/// Keys are small and many (one for each order being served), so they share pages: slots of 64 bytes. The messages of players
/// share pages too, in larger slots; longer secrets get separate pages. Freed slots are wiped by their owner and used again;
/// their pages are never released.
package enum SecretMemory {
    /// Bytes of the largest slot.
    static let slotSize = 4096
    private static let regionSize = 1 << 16

    /// The slots of one size.
    private struct Slots {
        let size: Int
        /// The addresses of free slots.
        let free = Locked<[UInt]>([])
    }

    private static let (small, medium, large) = (Slots(size: 64), Slots(size: 512), Slots(size: slotSize))

    private static func slots(_ count: Int) -> Slots? {
        count <= small.size ? small : count <= medium.size ? medium : count <= large.size ? large : nil
    }

    /// Zeroed memory for `count` bytes.
    package static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        guard let slots = slots(count) else { return unsafe pages(count) }
        let slot = slots.free.withLock { free in
            if free.isEmpty {
                let region = unsafe UInt(bitPattern: pages(regionSize))
                free = stride(from: 0, to: UInt(regionSize), by: slots.size).map { region + $0 }
            }
            return free.removeLast()
        }
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: slot) else { fatalError("a slot without an address") }
        return unsafe start
    }

    /// Frees memory from `allocate` with the same `count`, already wiped.
    static func free(_ start: UnsafeMutableRawPointer, _ count: Int) {
        guard let slots = slots(count) else {
            unsafe munmap(start, count)
            return
        }
        let slot = UInt(bitPattern: start)
        slots.free.withLock { $0.append(slot) }
    }

    /// Overwrites memory with zeros, which no compiler leaves out.
    package static func wipe(_ start: UnsafeMutableRawPointer, _ count: Int) {
        unsafe OPENSSL_cleanse(start, count)
    }

    /// Overwrites an array with zeros. Other arrays that share its storage keep their bytes.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { unsafe wipe(start, bytes.count) }
        }
    }

    private static func pages(_ count: Int) -> UnsafeMutableRawPointer {
        let start = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { fatalError("no memory for a secret") }
        guard unsafe madvise(start, count, MADV_DONTDUMP) == 0 else { fatalError("the system would dump secrets") }
        return unsafe start
    }
}
