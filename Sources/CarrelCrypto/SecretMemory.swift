import COpenSSL
import CarrelThreads
import Glibc

/// Memory for secrets: its own pages, left out of core dumps.
///
/// Keys are small and many (one for each order being served), so they share pages: slots of 64 bytes. Longer secrets get
/// pages of their own. Freed slots are wiped by their owner and used again; their pages are never given back.
package enum SecretMemory {
    static let slotSize = 64
    private static let regionSize = 1 << 16
    /// Addresses of free slots.
    private static let freeSlots = Locked<[UInt]>([])

    /// Zeroed memory for `count` bytes.
    package static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        if count > slotSize { return unsafe pages(count) }
        let slot = freeSlots.withLock { free in
            if free.isEmpty {
                let region = unsafe UInt(bitPattern: pages(regionSize))
                free = stride(from: 0, to: UInt(regionSize), by: slotSize).map { region + $0 }
            }
            return free.removeLast()
        }
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: slot) else { fatalError("a slot without an address") }
        return unsafe start
    }

    /// Takes back memory that `allocate` gave for the same `count`, already wiped.
    static func free(_ start: UnsafeMutableRawPointer, _ count: Int) {
        if count > slotSize {
            unsafe munmap(start, count)
        } else {
            let slot = UInt(bitPattern: start)
            freeSlots.withLock { $0.append(slot) }
        }
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
