// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelLicenseKeys
import CarrelMedia

/// The options for keys that come with a license: one to store first, and a license server of ClearKey.
struct LicenseKeyOptions: ParameterGroup, Sendable {
    var file: String?
    var clearKey: String?

    /// Bytes of a license or a token, at most.
    private static let limit = 64 << 10

    static let parameters: [Parameter<LicenseKeyOptions>] = [
        .option(
            \.file,
            "--license",
            value: "file",
            help: "A signed license, or a token that is redeemed; it is stored on this device first; - for standard input.",
            group: "Keys",
            completion: .file
        ),
        .option(
            \.clearKey,
            "--clear-key",
            value: "address",
            help: "A license server of ClearKey, for keys that neither --key nor a stored license has.",
            group: "Keys"
        ),
    ]

    var isEmpty: Bool { file == nil && clearKey == nil }

    /// The text of `--license`; nil without it.
    ///
    /// - Throws: ``SmallFileProblem``; `UsageError` if the file is not text.
    func license() throws -> String? {
        guard let file else { return nil }
        guard let text = String(validating: try SmallFile.read(file, limit: Self.limit), as: UTF8.self), !text.isEmpty else {
            throw UsageError(.badValue, "\(file) is neither a license nor a token")
        }
        return text
    }

    /// The key source of `--clear-key`; none without it.
    func server() throws -> [any ContentKeySource] {
        guard let clearKey else { return [] }
        do throws(MediaError) { try HTTPMediaClient.check(clearKey) } catch {
            throw UsageError(.badValue, "--clear-key: \(error.message)")
        }
        return [ClearKeySource(clearKey, client: HTTPMediaClient())]
    }
}
