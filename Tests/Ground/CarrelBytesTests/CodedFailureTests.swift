// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

private enum PrinterErrorDomain: ErrorDomain {}
private typealias PrinterError = CodedFailure<PrinterErrorDomain>

private enum ScannerErrorDomain: ErrorDomain {
    static let describesCode = false
}
private typealias ScannerError = CodedFailure<ScannerErrorDomain>

extension ErrorCode where Failure == PrinterError {
    fileprivate static var paper: Self { Self("printer.paper") }
    fileprivate static var ink: Self { Self("printer.ink") }
}

extension ErrorCode where Failure == ScannerError {
    fileprivate static var lid: Self { Self("scanner.lid") }
}

struct `A failure with a code` {
    @Test func `is described by its message, with the code unless its domain omits it`() {
        #expect(PrinterError(.paper, "the tray is empty").description == "the tray is empty (printer.paper)")
        #expect(ScannerError(.lid, "the lid is open").description == "the lid is open")
    }

    @Test func `equals failures of its domain with the same code`() {
        #expect(PrinterError(.paper, "the tray is empty") == PrinterError(.paper, "there is no tray"))
        #expect(PrinterError(.paper) != PrinterError(.ink))
    }

    @Test func `is caught as a failure of its own domain only`() {
        let error: any Error = PrinterError(.ink, "the ink is dry")
        #expect((error as? PrinterError)?.code == .ink)
        #expect(error as? ScannerError == nil)
        #expect(error is any CodedError)
    }
}
