// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelJSON

/// Whom a link is for, and how its address begins.
struct LinkOptions: ParameterGroup, Sendable {
    var account = ""
    var base = PublicURLOptions()

    static var parameters: [Parameter<LinkOptions>] {
        [.positional(\.account, "name", help: "The account's name.")] + Parameter.group(\.base)
    }

    var options: HomeOptions { base.options }

    /// Prints the address of the link in the service's response.
    func print(_ answer: JSON, _ console: Console) throws {
        let address = try base.address(of: answer["path"]?.string ?? "", console)
        guard options.json, var object = answer.object else { return console.print(address) }
        object["url"] = .string(address)
        console.print(.object(object))
    }
}
