// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Listens at a free port of 127.0.0.1 and accepts nothing; connections of its own fill its queue.
final class FullListener: Sendable {
    let port: UInt16
    private let descriptors: [Int32]

    init() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var descriptors = [listener]
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
            unsafe bind(listener, address, length)
            listen(listener, 0)
            unsafe getsockname(listener, address, &length)
            for _ in 0..<3 {
                let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
                unsafe connect(filler, address, length)
                descriptors.append(filler)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
