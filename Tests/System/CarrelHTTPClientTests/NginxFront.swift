// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelTesting
import Glibc

/// nginx with HTTP/2 and a certificate of a test's own authority, passing everything on to a server of the test's.
final class NginxFront: Sendable {
    let port: UInt16
    /// The authority's certificate.
    let authority: String
    private let process: BackgroundProcess
    private let directory: TemporaryDirectory

    /// Starts it. Requests go to `back` with HTTP/1.1 and unbuffered; the certificate is for `name`.
    init(
        to back: LoopbackServer,
        name: String = "localhost",
        allowsHTTP2: Bool = true,
        isExpired: Bool = false
    ) async throws {
        let nginx = try requirePeer("nginx")
        let openssl = try requirePeer("openssl")
        directory = TemporaryDirectory()
        authority = directory.file("ca.pem")
        port = LoopbackPort.free()
        let validity = isExpired ? ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"] : ["-days", "2"]
        directory.write(
            "ca.conf",
            """
            [ca]
            default_ca = test
            [test]
            new_certs_dir = .
            database = index
            serial = serial
            policy = any
            default_md = sha256
            [any]
            commonName = supplied
            """
        )
        directory.write("index", "")
        directory.write("serial", "01")
        directory.write("leaf.ext", "subjectAltName=DNS:\(name)\n")
        let commands = [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name) -keyout leaf.key -out leaf.csr",
            "ca -batch -notext -config ca.conf -cert ca.pem -keyfile ca.key -extfile leaf.ext -in leaf.csr -out leaf.pem",
        ]
        for command in commands {
            let words = command.split(separator: " ").map(String.init)
            try await checkProcess(
                [openssl] + words + (words[0] == "ca" ? validity : []),
                directory: directory.path
            )
        }
        directory.write(
            "nginx.conf",
            """
            daemon off; master_process off; pid nginx.pid; error_log stderr warn;
            events { worker_connections 256; }
            http {
              access_log off; client_max_body_size 0;
              client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
              server {
                listen 127.0.0.1:\(port) ssl\(allowsHTTP2 ? " http2" : "");
                ssl_certificate leaf.pem; ssl_certificate_key leaf.key;
                location / {
                  proxy_pass http://127.0.0.1:\(back.port); proxy_http_version 1.1;
                  proxy_buffering off; proxy_request_buffering off;
                }
              }
            }
            """
        )
        process = try BackgroundProcess([nginx, "-p", directory.path, "-c", directory.file("nginx.conf"), "-e", "stderr"])
        try await process.waitForPort(port)
    }

    /// The authority's certificate in DER.
    func root() async throws -> [UInt8] {
        try await runProcess([requirePeer("openssl"), "x509", "-in", authority, "-outform", "DER"]).output
    }

    var base: String { "https://localhost:\(port)" }

    var trusting: HTTPClient { HTTPClient(configuration: HTTPClientConfiguration(certificateAuthorities: authority)) }
}
