// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine
package import CarrelMediaSource
import CarrelProxy

extension ProxyError: ReportableError {
    package var hint: String? { recommendation }
    package var exitStatus: ExitStatus {
        switch code {
        case .usage, .version: .usage
        case .savedMissing: .savedMissing
        case .savedDamaged: .savedDamaged
        case .savedSealed: .noPermission
        case .missingKey, .refusedKey, .expiredKey, .outputControl, .clearContent, .address: .noPermission
        case .unavailable, .missing: .noInput
        default: .badInput
        }
    }
}
