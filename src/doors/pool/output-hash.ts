// The hash of an output, as it should have been signed. Making megabytes of JSON canonical takes a good part of a second:
// such a text is handed to a thread, and others are served meanwhile.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Overloaded } from '../../core/batch.ts'
import { hashOf, type Hashed } from './hash-thread.ts'

const INLINE_CHARS_MAX = 128 * 1024
const THREADS_MAX = 2
const WAITING_MAX = 100

// Run from its source (tests, `npm run dev`), a thread needs the loader that this process was started with.
const IS_SOURCE = import.meta.url.endsWith('.ts')
const BUILT = new URL('./hash-thread.js', import.meta.url)
const FROM_SOURCE = `import('tsx/esm/api').then(({ register }) => {
  register()
  return import('${new URL('./hash-thread.ts', import.meta.url).href}')
})`

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
  const thread = new Worker(IS_SOURCE ? FROM_SOURCE : BUILT, { eval: IS_SOURCE, workerData: text })
  const [hashed]: Hashed[] = await once(thread, 'message')
  await thread.terminate()
  if (hashed === undefined) throw new Error('A thread gave no hash.')
  return hashed
}
