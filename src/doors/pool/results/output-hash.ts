// The hash of an output, as it should have been signed. Making megabytes of JSON canonical takes a good part of a second:
// such a text is handed to a thread, and others are served meanwhile.
import { once } from 'node:events'
import { Overloaded } from '../../../core/db/batch.ts'
import { besideAs, startThread } from '../../../core/start-thread.ts'
import { hashOf, type Hashed } from './hash-thread.ts'

const INLINE_CHARS_MAX = 128 * 1024
const THREADS_MAX = 2
const WAITING_MAX = 100

const waiting: (() => void)[] = []
let running = 0

export async function hashOutput(text: string): Promise<Hashed> {
  if (text.length <= INLINE_CHARS_MAX) return hashOf(text)
  if (waiting.length >= WAITING_MAX) throw new Overloaded('Too many large outputs wait to be hashed.')
  if (running >= THREADS_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    return await inThread(text)
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}

async function inThread(text: string): Promise<Hashed> {
  const thread = startThread(besideAs('hash-thread', import.meta.url), { workerData: text })
  const [hashed]: Hashed[] = await once(thread, 'message')
  await thread.terminate()
  if (hashed === undefined) throw new Error('A thread gave no hash.')
  return hashed
}
