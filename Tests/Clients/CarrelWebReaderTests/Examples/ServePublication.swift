// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelWebReader

func serve(_ publication: Publication) throws -> (server: PublicationServer, manifest: String) {
    let server = PublicationServer(publication)
    let addresses = try server.start()
    return (server, addresses.publication + "manifest.json")
}
