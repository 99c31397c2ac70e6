// After the network was away, connections that the browser keeps open may be dead without its knowing: each request that is given
// one waits for its time-out. So they are all tried at once, and those that do not answer at once are given up, which closes them.
import { client } from '../session/client.ts'

/** As many as a browser keeps to one server. */
const CONNECTIONS = 6
const PATIENCE_MS = 1500

/** What waits for an answer that was lost is asked again: Query retries what was abandoned. */
export function dropDeadConnections(): void {
  client.abandonReads()
  for (let connection = 1; connection <= CONNECTIONS; connection += 1) {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    // Each has an address of its own: a browser asks for the same one only once at a time.
    void client.request('GET', '/healthz', { query: { connection }, signal }).catch(() => {})
  }
}
