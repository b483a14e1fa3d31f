// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine

struct DownloadCommand: Command {
    static let name = "download"
    static let abstract = "Save streams, and play them without a network."
    static let subcommands: [any Command.Type] = [
        DownloadAdd.self, DownloadList.self, DownloadShow.self, DownloadRun.self, DownloadPause.self, DownloadResume.self,
        DownloadCancel.self, DownloadDelete.self, DownloadRenew.self, DownloadSet.self,
    ]
    static let suggestions = [
        "save": "carrel download add", "get": "carrel download add", "start": "carrel download run",
        "stop": "carrel download pause",
        "remove": "carrel download delete", "rm": "carrel download delete", "ls": "carrel download list",
        "limit": "carrel download set",
        "play": "carrel play",
    ]
}
