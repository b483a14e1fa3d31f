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
        "inspect": "carrel media inspect", "stream": "carrel proxy", "save": "carrel download add", "print": "carrel hls print",
        "decode": "carrel decrypt", "encrypt": "carrel package", "redeem": "carrel token redeem",
    ]
    static let headings: KeyValuePairs<String, [any Command.Type]> = [
        "Read and play": [
            OpenCommand.self, ReadCommand.self, PlayCommand.self, DownloadCommand.self, ProxyCommand.self, CatCommand.self,
            ManifestCommand.self, LCPCommand.self,
        ],
        "Media": [DecryptCommand.self, PackageCommand.self, MediaCommand.self, HLSCommand.self, DASHCommand.self],
        "Catalog and orders": [
            IngestCommand.self, OrderCommand.self, TitleCommand.self, EditionCommand.self, PlanCommand.self, ReceiptCommand.self,
            ExplainCommand.self, UpstreamCommand.self,
        ],
        "Accounts": [
            AccountCommand.self, AdminCommand.self, SessionCommand.self, CredentialsCommand.self, ThrottleCommand.self,
        ],
        "Devices and licenses": [
            DeviceCommand.self, LicenseCommand.self, TokenCommand.self, PlayerCommand.self, ContentKeyCommand.self,
            CommunicationKeyCommand.self, RelayCommand.self,
        ],
        "Server and keys": [
            ServeCommand.self, InitCommand.self, StatusCommand.self, ConfigCommand.self, BackupCommand.self, RestoreCommand.self,
            KeyCommand.self, KeysCommand.self, PKICommand.self, AuditCommand.self, BlobsCommand.self, CannedCheckCommand.self,
        ],
    ]

    nonisolated static func main() async {
        await Program(Carrel.self, version: Version.text).main()
    }
}
