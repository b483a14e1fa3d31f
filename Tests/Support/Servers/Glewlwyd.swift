// SPDX-License-Identifier: Apache-2.0

/// Glewlwyd, an OpenID provider, at a port of 127.0.0.1 with its own database. It knows one client, `carrel`, and the users that
/// a test adds.
package final class Glewlwyd: Sendable {
    /// The issuer identifier.
    package let issuer: String
    /// The secret of the client `carrel`.
    package static let clientSecret = "a-secret-of-the-client"
    private let base: String
    private let directory = TemporaryDirectory()
    private let process: BackgroundProcess
    private let curl: String

    /// Starts it, or skips the test where it is not installed.
    ///
    /// - Parameter redirect: where browsers are sent back to.
    /// - Throws: what it says when it does not start.
    package init(redirect: String) async throws {
        let program = try requirePeer("glewlwyd")
        curl = try requirePeer("curl")
        let (sqlite, openSSL) = (try requirePeer("sqlite3"), try requirePeer("openssl"))
        let schema = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
        try await checkProcess([sqlite, directory.file("db"), ".read \(schema)"])
        let port = LoopbackPort.free()
        base = "http://127.0.0.1:\(port)"
        issuer = "\(base)/api/oidc"
        let configuration = directory.write("glewlwyd.conf", Self.configuration(port, base, directory.file("db")))
        process = try BackgroundProcess([program, "-c", configuration])
        try await process.waitForPort(port)
        try await signIn("admin", "password")
        try await put("mod/user/database", as: "admin", Self.userModule)
        try await put("mod/reload/", as: "admin", "{}")
        let key = try await checkProcess([openSSL, "genrsa", "2048"])
        let publicKey = try await checkProcess([openSSL, "rsa", "-pubout"], input: Array(key.utf8))
        try await post("mod/plugin/", as: "admin", Self.plugin(issuer, key, publicKey))
        try await post("client/", as: "admin", Self.client(redirect))
    }

    /// Adds a user who may sign in, with the password `NAME's password`, in these groups.
    package func addUser(_ name: String, groups: [String]) async throws {
        let list = groups.map { "\"\($0)\"" }.joined(separator: ",")
        let user = """
            {"username":"\(name)","password":"\(name)'s password","name":"\(name)","scope":["openid"],"enabled":true,"groups":[\(list)]}
            """
        try await post("user/", as: "admin", user)
    }

    /// Signs a user in with consent, like a browser, at the address that a client redirected to.
    ///
    /// - Returns: the redirect address, with the code in the query.
    package func visit(_ address: String, as name: String) async throws -> String {
        try await signIn(name, "\(name)'s password")
        try await put("auth/grant/carrel", as: name, #"{"scope":"openid"}"#)
        return try await checkProcess(
            [
                curl, "-sS", "-b", directory.file(name), "-o", "/dev/null", "-w", "%{redirect_url}", "\(address)&g_continue",
            ]
        )
    }

    /// Ends it.
    package func stop() async { await process.terminate() }

    private func signIn(_ name: String, _ password: String) async throws {
        let body = "{\"username\":\"\(name)\",\"password\":\"\(password)\"}"
        try await call(["-c", directory.file(name)], "auth/", body)
    }

    private func post(_ path: String, as name: String, _ body: String) async throws {
        try await call(["-b", directory.file(name)], path, body)
    }

    private func put(_ path: String, as name: String, _ body: String) async throws {
        try await call(["-b", directory.file(name), "-X", "PUT"], path, body)
    }

    private func call(_ options: [String], _ path: String, _ body: String) async throws {
        try await checkProcess(
            [curl, "-sS", "--fail-with-body", "-H", "Content-Type: application/json", "--data-binary", "@-"] + options
                + ["\(base)/api/\(path)"],
            input: Array(body.utf8)
        )
    }

    private static func configuration(_ port: UInt16, _ base: String, _ database: String) -> String {
        """
        port = \(port)
        bind_address = "127.0.0.1"
        external_url = "\(base)"
        login_url = "login.html"
        api_prefix = "api"
        log_mode = "console"
        log_level = "WARNING"
        cookie_secure = 0
        session_expiration = 3600
        session_key = "GLEWLWYD2_SESSION_ID"
        admin_scope = "g_admin"
        profile_scope = "g_profile"
        user_module_path = "/usr/lib/glewlwyd/user"
        client_module_path = "/usr/lib/glewlwyd/client"
        user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
        plugin_module_path = "/usr/lib/glewlwyd/plugin"
        use_secure_connection = false
        secure_connection_key_file = "unused"
        secure_connection_pem_file = "unused"
        secure_connection_ca_file = "unused"
        hash_algorithm = "SHA512"
        database = { type = "sqlite3"; path = "\(database)"; };

        """
    }

    private static let userModule = """
        {"module":"database","name":"database","display_name":"Users","order_rank":0,"readonly":false,"parameters":{
        "use-glewlwyd-connection":true,
        "data-format":{"groups":{"multiple":true,"read":true,"write":true,"profile-read":true}}}}
        """

    private static func plugin(_ issuer: String, _ key: String, _ publicKey: String) -> String {
        func text(_ pem: String) -> String { pem.split(separator: "\n").joined(separator: "\\n") }
        return """
            {"module":"oidc","name":"oidc","display_name":"OpenID Connect","parameters":{"iss":"\(issuer)","jwt-type":"rsa",
            "jwt-key-size":"256","key":"\(text(key))\\n","cert":"\(text(publicKey))\\n","access-token-duration":3600,
            "refresh-token-duration":1209600,"code-duration":600,"refresh-token-rolling":true,"allow-non-oidc":false,
            "auth-type-code-enabled":true,"auth-type-token-enabled":false,"auth-type-id-token-enabled":false,
            "auth-type-none-enabled":false,"auth-type-password-enabled":false,"auth-type-client-enabled":false,
            "auth-type-refresh-enabled":false,"pkce-allowed":true,"pkce-required":true,"pkce-method-plain-allowed":false,
            "allowed-scope":["openid"],"oauth-as-iss-id":true,"claims":[{"name":"groups","type":"string",
            "user-property":"groups","on-demand":false,"mandatory":true,"scope":["openid"]}]}}
            """
    }

    private static func client(_ redirect: String) -> String {
        """
        {"client_id":"carrel","name":"Carrel","client_secret":"\(clientSecret)","password":"\(clientSecret)",
        "confidential":true,"enabled":true,"authorization_type":["code"],"redirect_uri":["\(redirect)"],"scope":[],
        "token_endpoint_auth_method":["client_secret_basic"]}
        """
    }
}
