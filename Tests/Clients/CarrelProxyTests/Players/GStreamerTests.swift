// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// GStreamer gives a request ten seconds, and sends it four times: a proxy that makes its players wait fails here first.
@Suite(.serialized) struct `GStreamer` {
    @Test(arguments: SourceRow.telling) func `shows the pictures of the clear source and plays its audio`(row: SourceRow)
        async throws
    {
        try await `A player of this machine`.playBoth(row, .gstreamer)
    }
}

@Suite(.serialized) struct `GStreamer with sources of other kinds` {
    @Test(arguments: SourceRow.half(1)) func `shows the pictures of the clear source and plays its audio`(row: SourceRow)
        async throws
    {
        try await `A player of this machine`.playBoth(row, .gstreamer)
    }
}
