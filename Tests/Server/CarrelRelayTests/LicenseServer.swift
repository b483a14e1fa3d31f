// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting

/// A license server of another vendor in a process of its own, which notes every byte that it receives.
///
/// It answers by the path: `/license` with status 200, fields of Axinom's services and a body of its own, `/denied` with 403, `/redirect`,
/// `/page` (HTML), `/large`, `/stall`, `/broken`, and `/certificate`.
final class LicenseServer: Sendable {
    let url: String
    private let process: BackgroundProcess
    private let folder = TemporaryDirectory()

    static let answer = [UInt8](0...255)

    init() async throws {
        let program = """
            import os, socket, sys, threading, time
            folder = sys.argv[1]
            listener = socket.create_server(("127.0.0.1", 0))
            print("port", listener.getsockname()[1], flush=True)
            lock, count = threading.Lock(), [0]
            def serve(client):
                data = b""
                while b"\\r\\n\\r\\n" not in data:
                    part = client.recv(65536)
                    if not part: return
                    data += part
                head, body = data.split(b"\\r\\n\\r\\n", 1)
                fields = {l.split(b":", 1)[0].lower(): l.split(b":", 1)[1].strip() for l in head.split(b"\\r\\n")[1:]}
                while len(body) < int(fields.get(b"content-length", b"0")): body += client.recv(65536)
                with lock:
                    count[0] += 1
                    number = count[0]
                for name, value in (("head", head), ("body", body)):
                    with open(os.path.join(folder, f"{number}.{name}.new"), "wb") as file: file.write(value)
                    os.rename(os.path.join(folder, f"{number}.{name}.new"), os.path.join(folder, f"{number}.{name}"))
                path = head.split(b" ")[1].split(b"?")[0]
                def send(status, fields, body):
                    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), b"Connection: close"] + fields
                    client.sendall(b"\\r\\n".join(lines) + b"\\r\\n\\r\\n" + body)
                if path == b"/license":
                    send(b"200 OK", [b"Content-Type: application/octet-stream", b"X-AxDRM-Identity: tenant", b"X-AxDRM-Version: 7.1",
                        b"Set-Cookie: a=b", b"Server: vendor"], bytes(range(256)))
                elif path == b"/denied": send(b"403 Forbidden", [b"Content-Type: text/html", b"X-AxDRM-ErrorMessage: no such key"], b"<html>no")
                elif path == b"/redirect": send(b"302 Found", [b"Location: http://127.0.0.1:1/"], b"")
                elif path == b"/page": send(b"200 OK", [b"Content-Type: text/html; charset=utf-8"], b"<!DOCTYPE html><p>Sign in")
                elif path == b"/untyped": send(b"500 Oops", [], b"\\n <HTML><p>proxy")
                elif path == b"/large": send(b"200 OK", [], b"x" * 65537)
                elif path == b"/stall": time.sleep(60)
                elif path == b"/broken": client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nabc")
                elif path == b"/busy": send(b"503 Busy", [b"Content-Type: text/plain"], b"later")
                elif path == b"/certificate":
                    send(b"200 OK", [b"Content-Type: application/x-x509-ca-cert", b"Cache-Control: public, max-age=100"], b"certificate %d" % number)
                elif path == b"/fleeting": send(b"200 OK", [b"Cache-Control: no-store"], b"certificate %d" % number)
                elif path == b"/silent": send(b"200 OK", [], b"certificate %d" % number)
                else: send(b"404 Not Found", [b"Content-Type: text/plain"], b"")
            def run(client):
                with client:
                    try: serve(client)
                    except OSError: pass
            while True: threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()
            """
        process = try BackgroundProcess(["python3", "-c", program, folder.path])
        let line = try await process.waitForLine(containing: "port ")
        url = "http://127.0.0.1:\(line.split(separator: " ").last ?? "0")"
    }

    /// The requests so far.
    var count: Int {
        var number = 0
        while folder.read("\(number + 1).body") != nil { number += 1 }
        return number
    }

    /// A request as its bytes arrived; the first has the number 1.
    func request(_ number: Int) -> (head: String, body: [UInt8])? {
        guard let head = folder.read("\(number).head"), let body = folder.read("\(number).body") else { return nil }
        return (String(decoding: head, as: UTF8.self), body)
    }

    func stop() async { _ = await process.terminate() }
}
