// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelCrypto
import CarrelHTTP
import CarrelJSON

struct PlayerCertify: HomeCommand {
    var options = HomeOptions()
    var request = ""
    var account: String?

    static let name = "certify"
    static let abstract = "Issue a certificate for a device without a network, from its request in a file."
    static let discussion = """
        Prints the bundle that 'carrel device insert' takes on the device. A request is certified once, and within 30 days. The device trusts \
        the root in its first bundle: the fingerprint that is printed here must be the one that the device shows.
        """
    static let examples = [
        Example("carrel player certify request.jose > bundle.json", "Makes the bundle for a request.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(
                \.request,
                "request",
                help: "The file of 'carrel device request'; - reads standard input.",
                completion: .file
            ),
            .option(\.account, "--account", value: "name", help: "Link the device to an account."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let bytes = try SmallFile.read(request, limit: 32_768)
        let query = account.map { "?account=\(PercentEncoding.encode($0))" } ?? ""
        let answer = try await HomeClient(options).call(
            .post,
            "/admin/v1/players\(query)",
            contentType: "application/jose",
            bytes.filter { !($0 == 0x0a || $0 == 0x0d || $0 == 0x20) }
        )
        if let root = answer["root"]?.string.flatMap({ Base64.decode($0) }) {
            console.note("the root has the SHA-256 fingerprint \(Hex.encode(SHA256.hash(root.rawSpan)))")
        }
        console.print(answer)
    }
}
