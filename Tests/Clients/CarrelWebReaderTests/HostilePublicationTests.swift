// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelPublication
import CarrelWebReader
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// A UDP port of 127.0.0.1 that records received datagrams.
private final class Datagrams: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
    }

    var haveCome: Bool {
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0
    }

    deinit {
        close(descriptor)
    }
}

/// A publication whose scripts try what a web page could.
@Suite("A hostile publication in Chromium")
struct HostilePublicationTests {
    private let directory = TemporaryDirectory()

    /// Each attempt notes what came of it; `failed` is what must come.
    private static let script = """
        const log = {};
        const attempt = (name, action) => { try { const value = action(); log[name] = `done: ${String(value).slice(0, 200)}`; } catch (error) { log[name] = 'failed'; } };
        const later = async (name, action) => { try { const value = await action(); log[name] = `done: ${String(value).slice(0, 200)}`; } catch (error) { log[name] = 'failed'; } };
        attempt('parent.document', () => parent.document.body);
        attempt('top.location.href', () => top.location.href);
        attempt('parent.fetch', () => parent.fetch);
        attempt('frameElement', () => { if (frameElement === null) throw 0; return frameElement; });
        attempt('document.cookie', () => document.cookie);
        attempt('set cookie', () => { document.cookie = 'a=b'; return 'set'; });
        attempt('localStorage', () => localStorage);
        attempt('sessionStorage', () => sessionStorage);
        attempt('indexedDB', () => indexedDB.open('a'));

        attempt('popup', () => { const opened = open('OUTSIDE/popup'); if (!opened) throw 0; return opened; });
        attempt('navigate top', () => { top.location.href = 'OUTSIDE/top'; return 'navigated'; });
        attempt('top.close', () => { top.close(); if (top.closed) return 'closed'; throw 0; });
        attempt('eval', () => (0, eval)('1 + 1'));
        attempt('form', () => { const form = document.createElementNS('http://www.w3.org/1999/xhtml', 'form'); form.action = 'OUTSIDE/form'; document.body.append(form); form.submit(); throw 0; });
        attempt('inline script', () => { if (!window.inlineRan) throw 0; return 'ran'; });
        attempt('service worker', () => { if (!navigator.serviceWorker) throw 0; return navigator.serviceWorker.register; });
        attempt('download', () => { const link = document.createElementNS('http://www.w3.org/1999/xhtml', 'a'); link.href = 'OUTSIDE/download'; link.download = 'x'; document.body.append(link); link.click(); throw 0; });
        const image = new Image(); image.src = 'OUTSIDE/image';
        const style = document.createElementNS('http://www.w3.org/1999/xhtml', 'link'); style.rel = 'stylesheet'; style.href = 'OUTSIDE/style'; document.head.append(style);
        const inner = document.createElementNS('http://www.w3.org/1999/xhtml', 'iframe'); inner.src = 'OUTSIDE/frame'; document.body.append(inner);
        navigator.sendBeacon?.('OUTSIDE/beacon', 'x');
        for (const type of ['ready', 'copy', 'begin', 'hello', 'place']) {
          parent.postMessage({ type, text: 'stolen', href: 'x' }, '*');
          top.postMessage({ type, text: 'stolen', href: 'x' }, '*');
        }
        const rights = ['/protection/~readium/rights/copy?text=a', '/read/book', `/protection/${location.pathname.split('/')[2]}/~readium/rights/copy?text=a`,
          `/read/${location.pathname.split('/')[2]}/book`, `/publication/${location.pathname.split('/')[2]}/~readium/rights/copy?text=a`];
        Promise.all([
          ...rights.map((path, number) => later(`rights ${number}`, async () => { const answer = await fetch(location.protocol + '//' + location.host + path); if (!answer.ok) throw 0; return answer.text(); })),
          later('fetch outside', () => fetch('OUTSIDE/fetch')),
          later('fetch outside without looking', () => fetch('OUTSIDE/blind', { mode: 'no-cors' })),
          later('own chapter', async () => { const answer = await fetch('chapter1.xhtml'); if (!answer.ok) throw 0; return 'read'; }),
          later('worker', () => new Promise((resolve, reject) => { const worker = new Worker('worker.js'); worker.onmessage = () => resolve('ran'); worker.onerror = reject; })),
          later('caches', () => caches.keys()),
          later('clipboard', () => navigator.clipboard.readText()),
          later('talk by WebRTC', async () => {
            const line = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:DATAGRAMS' }] });
            line.createDataChannel('a');
            await line.setLocalDescription(await line.createOffer());
            const answer = line.localDescription.sdp.replace('actpass', 'active').replace(/a=candidate.*\\r\\n/g, '')
              .replace(/a=ice-ufrag:.*/, 'a=ice-ufrag:abcd').replace(/a=ice-pwd:.*/, 'a=ice-pwd:abcdefghijklmnopqrstuvwx');
            await line.setRemoteDescription({ type: 'answer', sdp: answer });
            await line.addIceCandidate({ candidate: 'candidate:1 1 udp 2113937151 127.0.0.1 DATAGRAMS typ host', sdpMid: '0', sdpMLineIndex: 0 });
            await new Promise((resolve) => setTimeout(resolve, 1500));
            return 'spoken';
          }),
          later('storage access', () => document.requestStorageAccess()),
        ]).then(() => {
          log.knows = [location.href, document.referrer, document.baseURI, name, document.documentElement.outerHTML,
            ...performance.getEntries().map((entry) => entry.name), ...[...(location.ancestorOrigins ?? [])]].join(' ');
          const out = document.createElementNS('http://www.w3.org/1999/xhtml', 'pre');
          out.id = 'log'; out.textContent = JSON.stringify(log); document.body.append(out);
        });
        """

    @Test func `reaches nothing but its own resources`() async throws {
        let requests = Locked(0)
        let outside = LoopbackServer { connection in
            while connection.readRequest() != nil {
                requests.withLock { $0 += 1 }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var book = TestBook.sentences(chapters: 2, paragraphs: 3)
        let address = "http://127.0.0.1:\(outside.port)"
        let datagrams = try Datagrams()
        let script = Self.script.replacing("OUTSIDE", with: address).replacing("DATAGRAMS", with: "\(datagrams.port)")
        book.files["evil.js"] = Array(script.utf8)
        book.files["worker.js"] = Array("postMessage('ran')".utf8)
        book.chapters[0].body += "<script>window.inlineRan = true;</script><script src=\"evil.js\"></script>"
        let rights = CountedRights(characters: 100, pages: 100)
        let publication = try await book.open(StatedProtection.adding(StatedProtection(rights: rights)))
        let browser = try await Browser.start(.chromium)
        defer { withExtendedLifetime(outside) {} }
        do {
            try await ReaderPage.with(publication, browser, folder: directory.file("reader")) { page in
                try await page.waitInDocument(until: "document.getElementById('log')")
                let text = try #require(try await page.inDocument("return document.getElementById('log').textContent").string)
                let bytes = Array(text.utf8)
                let log = try #require(try JSON.parse(bytes.rawSpan).object)
                for entry in log where entry.name != "knows" && entry.name != "own chapter" {
                    #expect(entry.value.string == "failed", "\(entry.name): \(entry.value)")
                }
                // its script ran, and its own resources are there for it
                #expect(log["own chapter"]?.string == "done: read")
                #expect(log.count == 31)
                let knows = try #require(log["knows"]?.string)
                #expect(knows.contains("/page/") && !knows.contains(page.control))
                #expect(try await page.inDocument("return origin").string == "null")
                #expect(rights.charactersLeft == 100 && rights.pagesLeft == 100)
                #expect(try await browser.url == page.address)
                #expect(try await browser.script("return document.getElementById('said').textContent").string == "")

                #expect(requests.withLock { $0 } == 0)
                #expect(!datagrams.haveCome)
                #expect(try await browser.script("return document.querySelector('dialog[open]')") == .null)
                // it leaves by itself: the page outside does not let it
                try await browser.script("document.getElementById('page').dataset.isFirst = ''")
                _ = try await page.inDocument(
                    "setTimeout(() => { location.href = arguments[0]; }, 0)",
                    .string(address + "/leave")
                )
                try await browser.wait(until: "document.querySelector('#page:not([data-is-first])') && \(ReaderPage.isReady)")
                #expect(try await page.inDocument("return document.body.innerText.startsWith('Chapter 1')") == true)
                #expect(try await browser.url == page.address)
            }
            #expect(requests.withLock { $0 } == 0)
        } catch {
            await browser.close()
            throw error
        }
        await browser.close()
    }
}
