// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelMP4

/// The domain of ``MediaError``.
public enum MediaErrorDomain: ErrorDomain {}

/// Why media cannot be read, decrypted or written: a stable code, and words for a person.
public typealias MediaError = CodedFailure<MediaErrorDomain>

extension MediaError {
    /// Damaged parameters of a track's Common Encryption.
    init(_ track: MP4Track, _ fault: Malformed) {
        self.init(.malformed, "parameters of the encryption of track \(track.id): \(fault.what) at their byte \(fault.offset)")
    }

    /// Damaged bytes.
    package init(_ malformed: Malformed) {
        self.init(.malformed, malformed.description)
    }
}

extension ErrorCode where Failure == MediaError {
    /// The bytes violate their format.
    public static var malformed: Self { Self("media.malformed") }
    /// A required key was not supplied.
    public static var missingKey: Self { Self("media.missing-key") }
    /// A key is malformed.
    public static var badKey: Self { Self("media.bad-key") }
    /// The source of keys refuses the key.
    public static var refusedKey: Self { Self("media.refused-key") }
    /// A key differs from the encryption key.
    public static var wrongKey: Self { Self("media.wrong-key") }
    /// No check of the clear bytes shows a key to be right, and the caller requires one.
    public static var unverifiedKey: Self { Self("media.unverified-key") }
    /// Carrel does not support its protection or its coding.
    public static var unsupported: Self { Self("media.unsupported") }
    /// The license requires output controls that a plain file does not have.
    public static var outputControl: Self { Self("media.output-control") }
    /// A file cannot be read.
    public static var unavailable: Self { Self("media.unavailable") }
    /// A server does not serve byte ranges of a file, or not of one this long.
    public static var noRanges: Self { Self("media.no-ranges") }
    /// A file cannot be written.
    public static var unwritable: Self { Self("media.unwritable") }
    /// Renditions cannot be cut at the same moments.
    public static var unaligned: Self { Self("media.unaligned") }
}
