/// The version of the command and the server.
enum Version {
    static let text = "0.1.0"
}
