// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Pictures that Chromium shows in a media element at given times.
enum BrowserPictures {
    /// Digests of the shown pictures, by the picture's number in a source of 25 a second.
    ///
    /// - Parameters:
    ///   - page: an address of a page with one media element, of the same origin as its media.
    ///   - numbers: the pictures' numbers.
    /// - Returns: a digest for each, and how long the element says that the media last.
    /// - Throws: ``BrowserError``, also when the media cannot be played.
    static func shown(_ page: String, _ numbers: [Int]) async throws -> (digests: [String], seconds: Double) {
        let browser = try await Browser.start(.chromium)
        do {
            try await browser.open(page)
            let found = try await browser.asyncScript(script, .array(numbers.map { .integer($0) }))
            await browser.close()
            let list = found.array ?? []
            try #require(list.count == numbers.count + 1, "\(found)")
            return (list.dropLast().map { $0.string ?? "" }, list.last?.double ?? 0)
        } catch {
            await browser.close()
            throw error
        }
    }

    private static let script = """
        const [numbers, done] = arguments;
        const video = document.querySelector("video");
        const failed = () => done("error: " + (video.error ? video.error.message : "none"));
        async function run() {
          if (video.error) return failed();
          video.onerror = failed;
          video.muted = true;
          video.pause();
          if (video.readyState < 1) await new Promise(next => video.onloadedmetadata = next);
          const out = [];
          for (const number of numbers) {
            // a picture may be shown after the end of the search for it
            const shown = new Promise(next => video.requestVideoFrameCallback(next));
            const sought = new Promise(next => video.onseeked = next);
            video.currentTime = (number + 0.5) / 25;
            await sought;
            await Promise.race([shown, new Promise(next => setTimeout(next, 5000))]);
            // not by way of a canvas: each of the browser's readers assumes colors of its own where a stream names none
            const frame = new VideoFrame(video);
            const data = new Uint8Array(frame.allocationSize());
            await frame.copyTo(data);
            frame.close();
            const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
            out.push([...digest].map(byte => byte.toString(16).padStart(2, "0")).join(""));
          }
          out.push(video.duration);
          done(out);
        }
        run().catch(error => done("error: " + error));
        """
}
