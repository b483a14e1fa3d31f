// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelLicenseKeys
import CarrelMedia

/// The options for keys that come with a license: one to store first, and a license server of ClearKey.
struct LicenseKeyOptions: ParameterGroup, Sendable {
    var file: String?
    var clearKey: String?
    var clearKeyToken: String?

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
        .option(
            \.clearKeyToken,
            "--clear-key-token",
            value: "file",
            help: "The license message for that server, sent as a bearer token; - for standard input.",
            group: "Keys",
            completion: .file
        ),
    ]

    var isEmpty: Bool { file == nil && clearKey == nil && clearKeyToken == nil }

    /// The files that the options name.
    var files: [String?] { [file, clearKeyToken] }

    func validate() throws(UsageError) {
        guard clearKeyToken == nil || clearKey != nil else {
            throw UsageError(.contradiction, "--clear-key-token needs --clear-key")
        }
    }

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
        return [ClearKeySource(clearKey, client: HTTPMediaClient(), fields: try authorization())]
    }

    /// The field that authorizes the requests; none without `--clear-key-token`.
    ///
    /// - Throws: ``SmallFileProblem``; `UsageError` unless the file has a token.
    private func authorization() throws -> [MediaHTTPField] {
        guard let clearKeyToken else { return [] }
        let bytes = try SmallFile.read(clearKeyToken, limit: Self.limit)
        let token = String(decoding: bytes, as: UTF8.self).filter { !$0.isNewline }
        guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw UsageError(.badValue, "\(clearKeyToken) is not a license message")
        }
        return [MediaHTTPField("Authorization", "Bearer \(token)")]
    }
}
