// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCommandLine
package import CarrelMedia

extension MediaErrorDomain: ReportableDomain {
    package static func hint(_ code: MediaError.Code) -> String? {
        switch code {
        case .missingKey: "pass it with --key ID:KEY, or with --keys FILE; 'carrel media inspect' lists the key ids of a file"
        case .unsupported: "'carrel media inspect' tells how a file is protected"
        case .unaligned: "encode all renditions with the same sync samples, or let --align do it"
        default: nil
        }
    }

    package static func exitStatus(_ code: MediaError.Code) -> ExitStatus {
        switch code {
        case .malformed, .wrongKey, .unverifiedKey, .unsupported, .unaligned: .badInput
        case .missingKey, .refusedKey, .outputControl: .noPermission
        case .unavailable, .noRanges: .noInput
        case .unwritable: .cannotCreate
        case .badKey: .usage
        default: .failure
        }
    }
}

/// The error for a media file that violates its format: the file, the fault, and its offset.
struct DamagedMedia: ReportableError {
    let path: String
    let what: String

    var message: String { "\(path): \(what)" }
    var exitStatus: ExitStatus { .badInput }
}
