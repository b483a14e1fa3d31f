// SPDX-License-Identifier: Apache-2.0

import Glibc

/// TCP ports of 127.0.0.1.
package enum LoopbackPort {
    /// A port that nothing listens on at this moment. A server that can be told port 0 is surer.
    package static func free() -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            _ = unsafe bind(descriptor, address, length)
            if let address = unsafe address { _ = unsafe getsockname(descriptor, address, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Whether something accepts connections there.
    package static func accepts(_ port: UInt16) -> Bool {
        let descriptor = connect(port)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }

    /// A connection, or -1.
    package static func connect(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = loopback(port: port)
        let isConnected = unsafe withUnsafeBytes(of: &address) { bytes in
            let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return unsafe Glibc.connect(descriptor, address, socklen_t(bytes.count)) == 0
        }
        if isConnected { return descriptor }
        close(descriptor)
        return -1
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
