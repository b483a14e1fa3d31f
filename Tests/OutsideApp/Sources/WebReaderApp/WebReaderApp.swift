// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication
import CarrelReader
import CarrelWebReader

/// Serves a publication to this process.
@main
struct WebReaderApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let publication = try await Streamer().open(asset: PublicationAsset(path: folder), allowUserInteraction: false)
        let server = PublicationServer(publication)
        do throws(ReaderError) {
            let address = try server.start().publication
            let response = try? await HTTPClient().send(ClientRequest(address + "manifest.json"))
            print(response?.status.rawValue ?? 0)
        } catch {
            print(error.code, error.message)
        }
        await server.stop()
        publication.close()
    }
}
