// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
package import CarrelTesting

/// Media Source Extensions in a browser, as a player of a package uses them.
package enum FlashBrowser {
    /// Appends the segments of a package in the order of its manifest, and finds flashes and beeps.
    ///
    /// A flash is found by seeking in steps of 5 ms. A beep is the beginning of the buffered audio and the beep's place in the decoded audio.
    ///
    /// - Parameters:
    ///   - kind: the browser.
    ///   - page: a page of the same origin as the manifest.
    ///   - manifest: a multivariant playlist, or a manifest of DASH.
    /// - Returns: the times; nil if the browser lacks a codec.
    /// - Throws: ``BrowserError``.
    package static func measure(_ kind: BrowserKind, page: String, manifest: String) async throws -> FlashTimes? {
        let browser = try await Browser.start(kind)
        do {
            try await browser.open(page)
            // in the page itself: Firefox keeps what drives it apart from the bytes of a page
            try await browser.script(
                """
                const script = document.createElement("script");
                script.textContent = arguments[0];
                document.documentElement.dataset.manifest = arguments[1];
                document.head.append(script);
                """,
                .string(script),
                .string(manifest)
            )
            try await browser.wait(until: "document.documentElement.dataset.result", timeout: .seconds(60))
            let text = try await browser.script("return document.documentElement.dataset.result").string ?? ""
            let bytes = Array(text.utf8)
            let found = try JSON.parse(bytes.rawSpan)
            await browser.close()
            if found["unsupported"]?.string != nil { return nil }
            var times = FlashTimes()
            times.isWhole = false
            times.flashes = (found["flashes"]?.array ?? []).compactMap(\.double)
            times.beeps = (found["beeps"]?.array ?? []).compactMap(\.double)
            times.words = found["words"]?.string ?? "\(found)"
            return times
        } catch {
            await browser.close()
            throw error
        }
    }

    private static let script = """
        const manifest = document.documentElement.dataset.manifest;
        const text = async url => (await fetch(url)).text();
        const address = (uri, base) => new URL(uri, base).href;
        // each track: kind, type, offset in seconds, and pieces with address and range
        async function playlist(url, kind, codecs) {
          const track = { kind, type: kind + '/mp4; codecs="' + codecs + '"', offset: 0, pieces: [] };
          let range = null, map = "";
          for (const line of (await text(url)).split("\\n")) {
            const found = line.match(/^#EXT-X-MAP:URI="([^"]+)"(?:,BYTERANGE="(\\d+)@(\\d+)")?/);
            if (found && found[0] !== map) {
              map = found[0];
              track.pieces.push([address(found[1], url), found[2] ? [+found[3], +found[3] + +found[2] - 1] : null]);
            }
            const part = line.match(/^#EXT-X-BYTERANGE:(\\d+)@(\\d+)/);
            if (part) range = [+part[2], +part[2] + +part[1] - 1];
            if (line && line[0] !== "#") { track.pieces.push([address(line, url), range]); range = null; }
          }
          return track;
        }
        async function hls(url) {
          const lines = (await text(url)).split("\\n");
          const i = lines.findIndex(line => line.startsWith("#EXT-X-STREAM-INF"));
          const codecs = lines[i].match(/CODECS="([^"]+)"/)[1].split(",");
          const audio = lines.find(line => line.startsWith("#EXT-X-MEDIA:TYPE=AUDIO")).match(/URI="([^"]+)"/)[1];
          return [await playlist(address(lines[i + 1], url), "video", codecs[0]), await playlist(address(audio, url), "audio", codecs[1])];
        }
        async function dash(url) {
          const xml = new DOMParser().parseFromString(await text(url), "text/xml");
          return [...xml.querySelectorAll("AdaptationSet")].map(set => {
            const [representation, kind] = [set.querySelector("Representation"), set.getAttribute("contentType")];
            const base = representation.querySelector("SegmentTemplate, SegmentBase");
            const number = name => +(base.getAttribute(name) || 0);
            const track = {
              kind, type: kind + '/mp4; codecs="' + representation.getAttribute("codecs") + '"',
              offset: -number("presentationTimeOffset") / number("timescale"), pieces: [],
            };
            if (base.tagName === "SegmentBase") {
              track.pieces.push([address(representation.querySelector("BaseURL").textContent, url), null]);
            } else {
              track.pieces.push([address(base.getAttribute("initialization"), url), null]);
              let next = number("startNumber");
              for (const s of base.querySelectorAll("S")) {
                for (let i = 0; i <= +(s.getAttribute("r") || 0); i++) {
                  track.pieces.push([address(base.getAttribute("media").replace("$Number$", next++), url), null]);
                }
              }
            }
            return track;
          });
        }
        async function bytes([url, range]) {
          const headers = range ? { Range: "bytes=" + range[0] + "-" + range[1] } : {};
          return new Uint8Array(await (await fetch(url, { headers })).arrayBuffer());
        }
        async function run() {
          const tracks = manifest.includes(".mpd") ? await dash(manifest) : await hls(manifest);
          const lacking = tracks.find(track => !MediaSource.isTypeSupported(track.type));
          if (lacking) return { unsupported: lacking.type };
          const video = document.createElement("video");
          video.muted = true;
          document.body.append(video);
          const source = new MediaSource();
          video.src = URL.createObjectURL(source);
          await new Promise(next => source.onsourceopen = next);
          const buffers = tracks.map(track => source.addSourceBuffer(track.type));
          const out = { flashes: [], beeps: [] };
          for (const [i, track] of tracks.entries()) {
            // a second later, so that nothing is cut off at zero
            buffers[i].timestampOffset = 1 + track.offset;
            const all = [];
            for (const piece of track.pieces) {
              const data = await bytes(piece);
              all.push(data);
              buffers[i].appendBuffer(data);
              await new Promise((next, fail) => { buffers[i].onupdateend = next; buffers[i].onerror = () => fail("append " + piece[0]); });
            }
            if (track.kind !== "audio") continue;
            const start = buffers[i].buffered.start(0);
            const pcm = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(await new Blob(all).arrayBuffer());
            const samples = pcm.getChannelData(0);
            let quiet = pcm.sampleRate;
            for (let at = 0; at < samples.length; at++) {
              if (Math.abs(samples[at]) < 0.05) { quiet++; continue; }
              if (quiet > pcm.sampleRate / 4) out.beeps.push(start - 1 + at / pcm.sampleRate);
              quiet = 0;
            }
          }
          source.endOfStream();
          const [canvas, size] = [document.createElement("canvas"), 16];
          canvas.width = canvas.height = size;
          const context = canvas.getContext("2d", { willReadFrequently: true });
          async function light(time) {
            const shown = new Promise(next => video.requestVideoFrameCallback(next));
            const sought = new Promise(next => video.onseeked = next);
            video.currentTime = time;
            await sought;
            await Promise.race([shown, new Promise(next => setTimeout(next, 300))]);
            context.drawImage(video, 0, 0, size, size);
            const data = context.getImageData(0, 0, size, size).data;
            let sum = 0;
            for (let i = 1; i < data.length; i += 4) sum += data[i];
            return sum / size / size;
          }
          // around a beep in the middle, and a later one
          for (const beep of [out.beeps[2], out.beeps[5]]) {
            let dark = true;
            for (let step = -24; step <= 24; step++) {
              const time = 1 + beep + step * 0.005;
              const isWhite = await light(time + 0.0005) > 150;
              if (isWhite && dark && step > -24) out.flashes.push(time - 1);
              dark = !isWhite;
            }
          }
          return out;
        }
        const done = result => document.documentElement.dataset.result = JSON.stringify(result);
        run().then(done, error => done({ words: "error: " + error }));
        """
}
