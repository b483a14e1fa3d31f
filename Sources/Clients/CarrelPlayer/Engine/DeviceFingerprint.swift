// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Glibc

/// Distinguishes an installation from a copy of it: a digest of the machine's id and the folder, with a salt of the installation.
///
/// No identifier of the machine leaves it: the digest cannot be compared without the salt, which is unique to the installation.
enum DeviceFingerprint {
    static let saltByteCount = 32

    /// 32 bytes.
    ///
    /// - Parameters:
    ///   - salt: random, kept with the installation.
    ///   - folder: the installation's folder; a copy of it is another file to the system.
    /// - Returns: the digest, 32 bytes.
    static func make(salt: [UInt8], folder: String) -> [UInt8] {
        var bytes = salt
        bytes += Array("carrel device fingerprint 1\n".utf8)
        bytes += machineID
        var status = stat()
        if unsafe stat(folder, &status) == 0 { bytes += Array("\n\(status.st_ino)\n\(geteuid())".utf8) }
        return SHA256.hash(bytes.rawSpan)
    }

    /// The machine ID from machine-id(5); empty if the file does not exist, as in some containers.
    private static var machineID: [UInt8] {
        let descriptor = unsafe open("/etc/machine-id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        return unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, unsafe read(descriptor, buffer.baseAddress, buffer.count))
        }
    }
}
