// Group commit. Calls that arrive while a statement runs wait and share the next one: the busier the server, the larger the
// statements and the fewer the commits. No call waits for a timer; an idle server runs batches of one.
import { Overloaded } from '../values/outcome.ts'
import { isConflict, isDataError } from './database.ts'

interface BatchOptions<Request, Answer> {
  /** One statement for all; answers in the order of the requests. */
  run(requests: Request[]): Promise<Answer[]>
  /** Two requests with the same key never share a statement: the second waits, and is judged after the first. */
  keyOf?: (request: Request) => string
  /** Approximate bytes. Serializing megabytes blocks the event loop, so a large request gets a statement of its own. */
  sizeOf?: (request: Request) => number
  concurrency?: number
  /**
   * So many waiting calls are sent at once if no statement runs. Other batches are sent at the end of a turn of the event loop, and
   * where a call costs this process more than the database, one turn can take the requests of all clients: they would share
   * one statement, and process and database would wait for each other in turns.
   */
  eagerRows?: number
  rowsMax?: number
  waitingMax?: number
}

interface QueuedCall<Request, Answer> {
  request: Request
  resolve(answer: Answer): void
  reject(error: unknown): void
}

// Two statements in flight keep both the server and this process busy; a third only splits the batches.
const CONCURRENCY = 2
const ROWS_MAX = 1000
const SIZE_MAX = 1024 * 1024
const WAITING_MAX = 100_000
const CONFLICTS_MAX = 3

export function batched<Request, Answer>(
  options: BatchOptions<Request, Answer>,
): (request: Request) => Promise<Answer> {
  const { keyOf, sizeOf, concurrency = CONCURRENCY, rowsMax = ROWS_MAX, waitingMax = WAITING_MAX } = options
  const { eagerRows = Infinity } = options
  let waiting: QueuedCall<Request, Answer>[] = []
  let running = 0
  let scheduled = false
  const keysInFlight = new Set<string>()

  const schedule = () => {
    if (scheduled || running >= concurrency || waiting.length === 0) return
    scheduled = true
    setImmediate(flush)
  }

  const flush = () => {
    scheduled = false
    if (running >= concurrency) return // the end of a statement schedules again
    const batch = takeBatch()
    if (batch.length === 0) return // every waiting key is in flight: the end of that statement schedules again
    running += 1
    runHalving(options.run, batch)
      .catch((error: unknown) => batch.forEach((call) => call.reject(error)))
      .finally(() => {
        running -= 1
        if (keyOf !== undefined) for (const call of batch) keysInFlight.delete(keyOf(call.request))
        schedule()
      })
    schedule()
  }

  const takeBatch = () => {
    if (keyOf === undefined && sizeOf === undefined) return waiting.splice(0, rowsMax)
    const batch: QueuedCall<Request, Answer>[] = []
    const held: QueuedCall<Request, Answer>[] = []
    let looked = 0
    let size = 0
    for (const call of waiting) {
      if (batch.length >= rowsMax) break
      const key = keyOf?.(call.request)
      if (key !== undefined && keysInFlight.has(key)) {
        held.push(call)
      } else {
        size += sizeOf?.(call.request) ?? 0
        if (batch.length > 0 && size > SIZE_MAX) break
        if (key !== undefined) keysInFlight.add(key)
        batch.push(call)
      }
      looked += 1
    }
    waiting = looked === waiting.length ? held : [...held, ...waiting.slice(looked)]
    return batch
  }

  return (request) => {
    if (waiting.length >= waitingMax)
      return Promise.reject(new Overloaded('Too many calls are waiting for the database.'))
    return new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject })
      if (running === 0 && waiting.length >= eagerRows) flush()
      else schedule()
    })
  }
}

/**
 * A data error means that some row is bad, but not which one: the batch is halved until the bad row fails alone. After a
 * deadlock or a lock timeout the statement has changed nothing and is run again.
 */
async function runHalving<Request, Answer>(
  run: (requests: Request[]) => Promise<Answer[]>,
  batch: QueuedCall<Request, Answer>[],
  conflictsLeft = CONFLICTS_MAX,
): Promise<void> {
  try {
    const answers = await run(batch.map((call) => call.request))
    batch.forEach((call, index) => {
      const answer = answers[index]
      if (answer === undefined) call.reject(new Error('The statement gave no answer for this call.'))
      else call.resolve(answer)
    })
  } catch (error) {
    if (isConflict(error) && conflictsLeft > 0) return runHalving(run, batch, conflictsLeft - 1)
    if (!isDataError(error) || batch.length === 1) {
      batch.forEach((call) => call.reject(error))
      return
    }
    const middle = batch.length >> 1
    await runHalving(run, batch.slice(0, middle))
    await runHalving(run, batch.slice(middle))
  }
}
