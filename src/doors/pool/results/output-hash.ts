// The hash of an output. Megabytes of JSON take a good part of a second to canonicalize, so a long text is hashed in a
// thread of its own.
import { once } from 'node:events'
import { Semaphore } from '../../../core/concurrency/semaphore.ts'
import { besideAs, startThread } from '../../../core/concurrency/start-thread.ts'
import { hashOf, type Hashed } from './hash-thread.ts'

const INLINE_CHARS_MAX = 128 * 1024
const THREADS_MAX = 2
const WAITING_MAX = 100

const threads = new Semaphore({
  permits: THREADS_MAX,
  waitingMax: WAITING_MAX,
  overloaded: 'Too many large outputs wait to be hashed.',
})

export async function hashOutput(text: string): Promise<Hashed> {
  return text.length <= INLINE_CHARS_MAX ? hashOf(text) : threads.run(() => inThread(text))
}

async function inThread(text: string): Promise<Hashed> {
  const thread = startThread(besideAs('hash-thread', import.meta.url), { workerData: text })
  const [hashed]: Hashed[] = await once(thread, 'message')
  await thread.terminate()
  if (hashed === undefined) throw new Error('A thread gave no hash.')
  return hashed
}
