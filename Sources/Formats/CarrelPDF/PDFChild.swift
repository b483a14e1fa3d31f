// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles
import CarrelJSON
import Glibc

/// Runs a job in a child process, which returns its result as JSON.
///
/// The child continues with a copy of this process. It has one thread, so the job must not wait for a lock that another thread
/// held at the time of the fork: whatever the Swift runtime creates at the first use of a type is created in advance
/// (``rehearse()``).
enum PDFChild {
    /// The limits of the work.
    struct Limits: Sendable {
        /// Bytes more than the process has.
        let memory: Int
        /// Processor time. A waiting child is killed after four times as long and half a minute.
        let milliseconds: Int
        /// Maximum size of an output file in bytes, which may be in memory.
        let outputBytes: Int

        /// The limits for a document by its size in bytes. libqpdf's need for well-formed documents was measured
        /// (docs/malformed.md).
        init(fileSize: Int) {
            let size = min(max(0, fileSize), 1 << 40)
            memory = min(32 << 20 + 64 * size, 2 << 30)
            milliseconds = min(500 + (1000 * size) >> 20, 300_000)
            outputBytes = 2 * size + 1 << 20
        }

        init(memory: Int, milliseconds: Int) {
            self.memory = memory
            self.milliseconds = milliseconds
            outputBytes = memory
        }

        fileprivate var memoryError: PDFError {
            let amount = "more than \(memory >> 20) MiB of memory"
            return PDFError(
                .tooLarge,
                "the document asks for \(amount); 32 MiB and 64 times the size of the file are allowed, 2 GiB at most"
            )
        }

        fileprivate var timeError: PDFError {
            let amount = "more than \(milliseconds) ms of processor time"
            return PDFError(
                .tooLarge,
                "the document asks for \(amount); 500 ms and 1 s for each MiB of the file are allowed, 300 s at most"
            )
        }
    }

    /// Bytes of a response.
    private static let answerLimit = 64 << 20
    /// Time limit in milliseconds for a child to exit after it has returned its result.
    static let patience: Int32 = 2000
    private static let isRehearsed: Bool = rehearse()

    /// Runs a job in a child process.
    ///
    /// - Parameters:
    ///   - descriptors: the descriptors that the job uses.
    ///   - limits: the resource limits of the child.
    ///   - cancellation: kills the child, and ends this call; nil for none.
    ///   - patience: time limit in milliseconds for the child to exit after it has returned its result.
    ///   - work: the job to run in the child.
    /// - Returns: its result.
    /// - Throws: the errors of the job; `pdf.too-large` if the child died without a result, `pdf.cancelled`.
    static func run(
        keeping descriptors: [Int32],
        _ limits: Limits,
        _ cancellation: PDFCancellation? = nil,
        patience: Int32 = Self.patience,
        _ work: () throws(PDFError) -> JSON
    ) throws(PDFError) -> JSON {
        guard isRehearsed else { throw PDFError(.unavailable, "libqpdf does not work here") }
        if cancellation?.isCancelled == true { throw PDFError.cancelled }
        var ends: [Int32] = [-1, -1]
        guard unsafe clinux_pipe(&ends) == 0 else { throw PDFError(.unavailable, "there are too many open files") }
        let keptDescriptors = (descriptors + [STDERR_FILENO, ends[1]]).sorted()
        let pid = unsafe clinux_fork_confined(
            keptDescriptors,
            Int32(keptDescriptors.count),
            UInt64(limits.memory),
            UInt64(limits.milliseconds),
            UInt64(limits.outputBytes)
        )
        if pid == 0 {
            answer(ends[1], work)
            _exit(0)
        }
        close(ends[1])
        defer { close(ends[0]) }
        guard pid > 0 else { throw PDFError(.unavailable, "no process can be started") }
        let bytes = PipeReader.readAll(
            ends[0],
            upTo: answerLimit,
            until: .now + .milliseconds(4 * limits.milliseconds + 30_000),
            cancellation: cancellation?.descriptor
        )
        // A compromised child may return a result and keep running.
        let hasEnded = bytes != nil && clinux_ends_within(pid, patience) == 1
        if !hasEnded { kill(pid, SIGKILL) }
        let status = clinux_reap(pid)
        guard let bytes, hasEnded else {
            if cancellation?.isCancelled == true { throw PDFError.cancelled }
            throw PDFError(.tooLarge, "reading the document took too long or gave too much data")
        }
        switch status {
        case 0: break
        case CLINUX_NO_MEMORY: throw limits.memoryError
        case -SIGPROF: throw limits.timeError
        // Swift that gets no memory traps; so may a library on unforeseen input
        default: throw PDFError(.tooLarge, "the document asks for too much memory, or libqpdf breaks on it")
        }
        guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 256, byteCount: answerLimit)) else {
            throw PDFError(.tooLarge, "the document says too much of itself")
        }
        if let code = json["code"]?.string { throw PDFError(PDFError.Code(code), json["message"]?.string ?? "") }
        return json["value"] ?? .null
    }

    /// Runs in the child: does the job, and writes its result.
    private static func answer(_ pipe: Int32, _ work: () throws(PDFError) -> JSON) {
        var object = JSONObject()
        do throws(PDFError) {
            object["value"] = try work()
        } catch {
            object["code"] = .string(error.code.identifier)
            object["message"] = .string(error.message)
        }
        let bytes = JSON.object(object).write()
        if unsafe bytes.withUnsafeBytes({ unsafe clinux_write(pipe, $0.baseAddress, $0.count) }) != 0 { _exit(1) }
    }

    /// Runs the whole job here with a document of our own.
    ///
    /// - Returns: whether it succeeded.
    private static func rehearse() -> Bool {
        let file = clinux_memory_file()
        guard file >= 0 else { return false }
        defer { close(file) }
        let bytes = Array(rehearsal.utf8)
        guard unsafe bytes.withUnsafeBytes({ unsafe write(file, $0.baseAddress, $0.count) }) == bytes.count,
            let description = try? PDFDocument(descriptor: file).describe(),
            (try? PDFDocument(descriptor: file, password: "é").encryption) == .some(nil)
        else { return false }
        let json = JSON.object(["value": description.json]).write()
        return (try? JSON.parse(json.rawSpan))?["value"].flatMap(PDFDescription.init) == description
    }

    /// A document with a bit of everything that is read, and no table of its objects, which libqpdf then finds.
    private static let rehearsal = """
        %PDF-1.4
        1 0 obj << /Type /Catalog /Pages 2 0 R /Outlines 4 0 R /PageLabels << /Nums [0 << /S /r /P (p) >>] >> /Lang (en)
        /Names << /Dests << /Names [(a) [3 0 R /Fit]] >> >> /Metadata 7 0 R >> endobj
        2 0 obj << /Type /Pages /Count 1 /Kids [3 0 R] >> endobj
        3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >> endobj
        4 0 obj << /First 5 0 R >> endobj
        5 0 obj << /Title (A) /A << /S /GoTo /D (a) >> /First 6 0 R >> endobj
        6 0 obj << /Title (B) /Dest [3 0 R /Fit] >> endobj
        7 0 obj << /Type /Metadata /Subtype /XML /Length 118 >>
        stream
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description>a</rdf:Description></rdf:RDF>      \n
        endstream endobj
        8 0 obj << /Title (T) /Author (A; B) /Keywords (a, b) /ModDate (D:20240101) >> endobj
        trailer << /Root 1 0 R /Info 8 0 R /ID [<01> <01>] /Size 9 >>
        %%EOF
        """
}
