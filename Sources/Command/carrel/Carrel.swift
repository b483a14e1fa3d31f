// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine

/// The one command.
@main
struct Carrel: Command {
    static let name = "carrel"
    static let abstract = "Open protected publications, stream protected audiobooks, authorise subscribers."
    static let discussion = """
        A home is the folder with the database, the media and the keys. Commands work while a server runs on it.
        """
    static let examples = [
        Example("carrel serve", "Serves the home carrel-home on http://127.0.0.1:8080."),
        Example("carrel ingest book.m4b", "Adds an audiobook to the catalog."),
    ]
    static let suggestions = [
        "inspect": "carrel media inspect", "play": "carrel proxy", "stream": "carrel proxy", "print": "carrel hls print",
        "decode": "carrel decrypt", "encrypt": "carrel package", "redeem": "carrel token redeem",
    ]
    static let subcommands: [any Command.Type] = [
        OpenCommand.self, ManifestCommand.self, CatCommand.self, ReadCommand.self, LCPCommand.self, MediaCommand.self,
        DecryptCommand.self, PackageCommand.self, ProxyCommand.self, HLSCommand.self, DASHCommand.self, InitCommand.self,
        ServeCommand.self, IngestCommand.self,
        TitleCommand.self,
        EditionCommand.self, OrderCommand.self, AccountCommand.self, PlanCommand.self, ReceiptCommand.self, DeviceCommand.self,
        ExplainCommand.self, UpstreamCommand.self, AdminCommand.self,
        SessionCommand.self, StatusCommand.self, CannedCheckCommand.self, AuditCommand.self, KeyCommand.self, KeysCommand.self,
        PKICommand.self, PlayerCommand.self, TokenCommand.self, LicenseCommand.self, ContentKeyCommand.self,
        CommunicationKeyCommand.self,
        CredentialsCommand.self, ThrottleCommand.self,
        BlobsCommand.self, BackupCommand.self, RestoreCommand.self, ConfigCommand.self,
    ]

    nonisolated static func main() async {
        await Program(Carrel.self, version: Version.text).main()
    }
}
