import CarrelCommandLine
import CarrelJSON

/// Whom a link is for, and how its address begins.
struct LinkOptions: ParameterGroup, Sendable {
    var account = ""
    var url = "http://127.0.0.1:8080"
    var options = HomeOptions()

    static var parameters: [Parameter<LinkOptions>] {
        [
            .positional(\.account, "name", help: "The account's name."),
            .option(\.url, "--url", value: "url", help: "Where readers reach the server."),
        ] + Parameter.group(\.options)
    }

    /// Prints the address of a link that the service answered with.
    func print(_ answer: JSON, _ console: Console) {
        let address = (url.hasSuffix("/") ? String(url.dropLast()) : url) + (answer["path"]?.string ?? "")
        guard options.json, var object = answer.object else { return console.print(address) }
        object["url"] = .string(address)
        console.print(.object(object))
    }
}
