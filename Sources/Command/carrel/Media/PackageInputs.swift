// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTimedText
import CarrelTranscoding

/// The inputs of `carrel package`, and the files that ffmpeg makes from inputs that are neither MP4 nor WebVTT.
struct PackageInputs {
    /// Files with tracks.
    private(set) var sources: [PackagingSource] = []
    /// Subtitles.
    private(set) var texts: [PackagingText] = []
    /// Changes to files that their owner should know of.
    private(set) var warnings: [String] = []
    /// Subtitles within a file: their language, and their number in it.
    private struct TextChoice: Hashable {
        let language: String?
        let number: Int
    }

    /// The file whose subtitles are used: different bit rates of one film have the same subtitles.
    private var textFiles: [TextChoice: String] = [:]
    /// The first file with pictures, of which thumbnails are drawn.
    private var first: String?

    /// Milliseconds between sync samples of pictures that are encoded again; nil leaves them.
    private let alignment: Int64?
    /// Copies of streams, which thumbnails are drawn of.
    private var copies: [ScratchFolder] = []

    /// - Parameter alignment: milliseconds between sync samples of pictures that are encoded again; nil leaves them.
    init(alignment: Int64?) {
        self.alignment = alignment
    }

    /// Copies the clear media of a stream, and opens the copy.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - servers: the options for requests to its servers.
    ///   - scratch: holds the copy.
    ///   - folder: holds other copies while the command runs.
    ///   - console: shows the progress of long steps.
    /// - Throws: ``SourceFailure``, and as ``add(_:named:_:_:)`` does.
    mutating func add(
        _ stream: StreamSource,
        _ servers: StreamOptions,
        _ scratch: ScratchFolder,
        _ folder: PackageFolder,
        _ console: Console
    ) async throws {
        let path = "\(scratch.path)/stream"
        let bar = console.progress("reading \(stream.name)", totalBytes: nil)
        defer { bar.finish() }
        let copy: StreamCopy
        do {
            copy = try await StreamCopy.read(stream, servers, keys: GivenKeys(), to: scratch, bar)
        } catch let failure as SourceFailure where failure.lacksKey {
            throw ProtectedInput(name: stream.name)
        }
        warnings += copy.warnings
        let file = try OutputFile(path)
        try copy.write(isTransport: false) { try file.write($0) }
        try file.commit()
        bar.finish()
        copies.append(scratch)
        try await add(path, named: stream.name, folder, console)
    }

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: an MP4, MOV or WebVTT file, or another that ffmpeg reads.
    ///   - name: its name in messages.
    ///   - folder: holds copies for the time of the work.
    ///   - console: shows the progress of long steps.
    /// - Throws: `TranscodingError`, `MediaError`; `Malformed` if a file is damaged.
    mutating func add(_ path: String, named name: String, _ folder: PackageFolder, _ console: Console) async throws {
        let reader = try LocalFile(path)
        let beginning = try reader.read(0..<min(reader.length, 16))
        if PackagingText.isText(beginning) {
            guard reader.length <= WebVTTFile.limit else {
                throw MediaError(.malformed, "\(name): subtitles have more than 16 MiB")
            }
            let language = PackagingText.language(ofFile: path)
            return texts.append(try PackagingText(name: name, reader.read(0..<reader.length), language: language))
        }
        let isMP4 = PackagingSource.isMP4(beginning)
        guard alignment != nil || !isMP4 else {
            let source = try await PackagingSource(name: name, reader)
            add(source, path)
            if !source.textTracks.isEmpty { try addTexts(path, source.textTracks, nil) }
            return
        }
        let coding = isMP4 ? try await PackagingSource(name: name, reader).picturesLostByAlignment : "what they are coded as"
        let bar = console.progress("\(alignment == nil ? "reading" : "encoding") \(name)", totalBytes: nil)
        defer { bar.finish() }
        var done: Int64 = 0
        var streams: [FFmpegInput.Stream]?
        let copy = try folder.scratch { file in
            func take(_ bytes: RawSpan) throws {
                try file.write(bytes)
                done += Int64(bytes.byteCount)
                bar.advance(to: done)
            }
            do {
                let input = try FFmpegInput(path)
                streams = try input.streams()
                if let alignment { try input.align(every: alignment, take) } else { try input.copy(streams, take) }
            } catch let error as TranscodingError {
                throw UnreadableInput(path: name, error: error)
            }
        }
        let source = try await PackagingSource(name: name, copy)
        if alignment != nil, source.hasPictures, let coding {
            warnings.append("\(name): --align makes H.264 of 8 bits of the pictures, whatever they were: \(coding)")
        }
        add(source, path)
        try addTexts(path, [], streams)
    }

    /// Adds the subtitles in a file of pictures, as ffmpeg reads them; a warning names each that is left out.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - tracks: the tracks of text of an MP4 file.
    ///   - streams: the streams of the file; nil lists them.
    /// - Throws: the errors of reading the file, except failures of ffmpeg.
    private mutating func addTexts(_ path: String, _ tracks: [MP4Track], _ streams: [FFmpegInput.Stream]?) throws {
        let input: FFmpegInput
        let all: [FFmpegInput.Stream]
        do {
            input = try FFmpegInput(path)
            all = try streams ?? input.streams()
        } catch let error as TranscodingError {
            let count = tracks.count == 1 ? "one track of subtitles is" : "\(tracks.count) tracks of subtitles are"
            warnings.append("\(path): \(count) left out: \(error.message)")
            return
        }
        // ffmpeg lists fragments of WebVTT and TTML as data
        for track in tracks where ["wvtt", "stpp"].contains(track.entries.first?.format) {
            let format = track.entries.first?.format.description ?? ""
            warnings.append("\(path): track \(track.id) (\(format)) is left out: subtitles of this coding are not read from MP4")
        }
        var numbers: [String: Int] = [:]
        for stream in all where stream.kind == "subtitle" {
            let name = "\(path): track \(stream.index + 1) (\(stream.codec))"
            guard FFmpegInput.textCodecs.contains(stream.codec) else {
                warnings.append("\(name) is left out: subtitles of this coding have no form as WebVTT")
                continue
            }
            do {
                let language = PackagingText.language(ofTrack: stream.language)
                let number = numbers[language ?? "", default: 0] + 1
                numbers[language ?? ""] = number
                let choice = TextChoice(language: language, number: number)
                if let other = textFiles[choice], other != path {
                    warnings.append("\(name) is left out: \(other) has subtitles in the same place")
                    continue
                }
                textFiles[choice] = path
                let bytes = try input.text(stream, limit: WebVTTFile.limit)
                texts.append(try PackagingText(name: name, bytes, language: language))
            } catch let error as TranscodingError {
                warnings.append("\(name) is left out: \(error.message)")
            } catch let error as MediaError {
                warnings.append("\(name) is left out: \(error.message)")
            }
        }
    }

    private mutating func add(_ source: PackagingSource, _ path: String) {
        sources.append(source)
        if first == nil, source.hasPictures { first = path }
    }

    /// Renders thumbnails of the first file with video.
    ///
    /// - interval: milliseconds between two pictures.
    ///   - folder: the destination.
    /// - Returns: the thumbnails; nil if no file has video.
    /// - Throws: `TranscodingError`, `MediaError`.
    func thumbnails(every interval: Int64, to folder: PackageFolder) throws -> PackagedThumbnails? {
        guard let first else { return nil }
        var thumbnails = PackagedThumbnails(interval: interval, columns: 5, rows: 5)
        do {
            try FFmpegInput(first).thumbnails(every: interval, width: 160, columns: 5, rows: 5) { picture in
                try thumbnails.append(picture, to: folder)
            }
        } catch let error as TranscodingError {
            throw UnreadableInput(path: first, error: error)
        }
        return thumbnails
    }
}

/// The refusal of a protected stream: the keys of `carrel package` are for its output.
private struct ProtectedInput: ReportableError {
    let name: String

    var message: String { "\(name) is protected, and only clear streams are packaged" }
    var hint: String? { "decrypt it first: carrel decrypt SOURCE --keys FILE -o clear.mp4" }
    var exitStatus: ExitStatus { .noPermission }
}
