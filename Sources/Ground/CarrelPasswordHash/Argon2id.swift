// SPDX-License-Identifier: Apache-2.0

import CArgon2
import CarrelBytes
package import CarrelCrypto

/// Hashes of passwords (RFC 9106), kept as PHC strings: `$argon2id$v=19$m=47104,t=1,p=1$SALT$HASH`.
package enum Argon2id {
    /// The cost of a hash.
    package struct Parameters: Sendable, Hashable {
        /// Memory in KiB.
        package var memory: UInt32
        /// Passes over the memory.
        package var passes: UInt32

        /// - Parameters:
        ///   - memory: in KiB, 8...262,144.
        ///   - passes: 1...16.
        package init(memory: UInt32, passes: UInt32) {
            precondition(Self.memories ~= memory && Self.passCounts ~= passes, "Argon2id parameters out of bounds")
            self.memory = memory
            self.passes = passes
        }

        /// 46 MiB, one pass (OWASP ASVS 5.0, appendix C).
        package static let standard = Parameters(memory: 47_104, passes: 1)

        static let memories: ClosedRange<UInt32> = 8...262_144
        static let passCounts: ClosedRange<UInt32> = 1...16
    }

    /// A hash with the salt and the cost it was made with.
    package struct Hash: Sendable, Equatable {
        package let parameters: Parameters
        let salt: [UInt8]
        let tag: [UInt8]

        /// The PHC string.
        package var text: String {
            "$argon2id$v=19$m=\(parameters.memory),t=\(parameters.passes),p=1$\(Self.base64(salt))$\(Self.base64(tag))"
        }

        /// Reads a PHC string; nil for anything that ``text`` does not write, a cost beyond the bounds included.
        package init?(_ text: String) {
            let parts = text.split(separator: "$", omittingEmptySubsequences: false)
            guard parts.count == 6, parts[0].isEmpty, parts[1] == "argon2id", parts[2] == "v=19",
                let salt = Self.bytes(parts[4]), 8...64 ~= salt.count, let tag = Self.bytes(parts[5]), 16...64 ~= tag.count
            else { return nil }
            let costs = parts[3].split(separator: ",", omittingEmptySubsequences: false)
            guard costs.count == 3, let memory = Self.number(costs[0], "m="), let passes = Self.number(costs[1], "t="),
                costs[2] == "p=1", Parameters.memories ~= memory, Parameters.passCounts ~= passes
            else { return nil }
            self.init(parameters: Parameters(memory: memory, passes: passes), salt: salt, tag: tag)
        }

        /// A hash that costs as much to check as any other of these parameters, and that no password has.
        package static func decoy(_ parameters: Parameters) -> Hash {
            Hash(parameters: parameters, salt: Random.bytes(16), tag: Random.bytes(32))
        }

        init(parameters: Parameters, salt: [UInt8], tag: [UInt8]) {
            self.parameters = parameters
            self.salt = salt
            self.tag = tag
        }

        private static func number(_ text: Substring, _ name: String) -> UInt32? {
            guard text.hasPrefix(name), let value = UInt32(text.dropFirst(2)), name + String(value) == text else { return nil }
            return value
        }

        /// The standard alphabet without padding, as PHC strings have it.
        private static func base64(_ bytes: [UInt8]) -> String {
            String(Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        }

        private static func bytes(_ text: Substring) -> [UInt8]? {
            guard !text.contains("-"), !text.contains("_") else { return nil }
            return Base64URL.decode(String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }))
        }
    }

    /// Hashes a password under a fresh salt. Blocks for tens of milliseconds.
    ///
    /// - Throws: `crypto.refused` for want of memory.
    package static func hash(_ password: Secret, _ parameters: Parameters = .standard) throws(CryptoError) -> Hash {
        let salt = Random.bytes(16)
        return Hash(parameters: parameters, salt: salt, tag: try derive(password, salt, parameters, count: 32))
    }

    /// Whether the password is the one of the hash, in a time that does not tell how much of it is right. Blocks.
    ///
    /// - Throws: `crypto.refused` for want of memory.
    package static func verify(_ password: Secret, against hash: Hash) throws(CryptoError) -> Bool {
        let tag = try derive(password, hash.salt, hash.parameters, count: hash.tag.count)
        return constantTimeEqual(tag.rawSpan, hash.tag.rawSpan)
    }

    static func derive(
        _ password: Secret,
        _ salt: [UInt8],
        _ parameters: Parameters,
        count: Int,
        secret: [UInt8] = [],
        associatedData: [UInt8] = [],
        lanes: UInt32 = 1
    ) throws(CryptoError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: count)
        // The library takes mutable pointers and, without its clearing flags, writes only to the tag.
        var (salt, key, data) = (salt, secret, associatedData)
        let status = unsafe tag.withUnsafeMutableBufferPointer { tag in
            unsafe salt.withUnsafeMutableBufferPointer { salt in
                unsafe key.withUnsafeMutableBufferPointer { key in
                    unsafe data.withUnsafeMutableBufferPointer { data in
                        password.withBytes { password in
                            unsafe password.withUnsafeBytes { password -> CInt in
                                var context = unsafe argon2_context()
                                unsafe context.out = tag.baseAddress
                                unsafe context.outlen = UInt32(tag.count)
                                unsafe context.pwd = UnsafeMutablePointer(
                                    mutating: password.bindMemory(to: UInt8.self).baseAddress
                                )
                                unsafe context.pwdlen = UInt32(password.count)
                                unsafe context.salt = salt.baseAddress
                                unsafe context.saltlen = UInt32(salt.count)
                                unsafe context.secret = key.isEmpty ? nil : key.baseAddress
                                unsafe context.secretlen = UInt32(key.count)
                                unsafe context.ad = data.isEmpty ? nil : data.baseAddress
                                unsafe context.adlen = UInt32(data.count)
                                unsafe context.t_cost = parameters.passes
                                unsafe context.m_cost = parameters.memory
                                unsafe context.lanes = lanes
                                unsafe context.threads = 1
                                unsafe context.version = ARGON2_VERSION_13.rawValue
                                return unsafe argon2id_ctx(&context)
                            }
                        }
                    }
                }
            }
        }
        guard status == ARGON2_OK.rawValue else {
            throw CryptoError(.refused, "Argon2id failed: \(unsafe String(cString: argon2_error_message(status)))")
        }
        return tag
    }
}
