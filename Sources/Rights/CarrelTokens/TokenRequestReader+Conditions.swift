// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights

/// Conditions of a license, and the device that a token is bound to: parameters of Carrel's own.
extension TokenRequestReader {
    /// The conditions; none if no parameter sets one.
    func conditions() throws(TokenRefusal) -> LicenseConditions {
        var conditions = LicenseConditions()
        conditions.startsAt = try time("notBefore", or: .value)
        conditions.storageSeconds = try number("storage", LicenseConditions.storageRange)
        conditions.playCount = try number("plays", LicenseConditions.playRange)
        conditions.maxPixels = try number("maxPixels", LicenseConditions.pixelRange)
        conditions.isMetered = try parameters.flag("metering") ?? false
        conditions.attendedSeconds = try number("attended", LicenseConditions.attendedRange)
        conditions.copyCharacters = try number("copy", LicenseConditions.copyRange)
        conditions.printPages = try number("print", LicenseConditions.printRange)
        conditions.forbidsExport = try parameters.flag("noExport") ?? false
        conditions.watermark = try parameters.text("watermark")
        do throws(RightsError) { try conditions.check() } catch { throw TokenRefusal(.value, error.message) }
        return conditions
    }

    /// The thumbprint of the one device key that may redeem the token; nil if absent.
    func deviceThumbprint() throws(TokenRefusal) -> String? {
        guard let text = try parameters.text("cnf") else { return nil }
        guard Base64URL.decode(text)?.count == 32 else {
            throw TokenRefusal(.value, "cnf is not a thumbprint (RFC 7638 with SHA-256, base 64 for URLs)")
        }
        return text
    }

    private func number(_ name: String, _ range: ClosedRange<Int>) throws(TokenRefusal) -> Int? {
        guard let text = try parameters.text(name) else { return nil }
        guard let number = Int(text), String(number) == text, range ~= number else {
            throw TokenRefusal(.value, "\(name) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
