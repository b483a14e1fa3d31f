// SPDX-License-Identifier: Apache-2.0

extension Edition {
    /// Whether an edition is published as a protected file (OMA DCF), for the holders of licenses.
    package enum Licensed: String, Sendable, CaseIterable {
        /// Only the clear file is published.
        case off
        /// Both files are published.
        case also
        /// Only the protected file is published.
        case only
    }

    /// The protected file of an edition, and its key.
    package struct Protection: Sendable {
        package internal(set) var licensed: Licensed
        /// The number of the title's last key; 0 if it never had one. The keys of all earlier contents have the numbers before it.
        package internal(set) var keyNumber = 0
        /// The blob of the contents that the last key is for.
        package internal(set) var keyBlob: String?
        /// The blob of the file's integrity tags, and the digest of the head of the file that they are of; nil until they are
        /// computed.
        package internal(set) var tags: (blob: String, file: String)?

        init(_ licensed: Licensed = .off) {
            self.licensed = licensed
        }
    }
}
