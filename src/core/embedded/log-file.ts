// The server writes to its log file itself, through a descriptor opened for appending, so that its last lines survive
// this process. In return the size is limited from here: a file that is too long is renamed, and a new one begins.
import { closeSync, fstatSync, openSync } from 'node:fs'
import { copyFile, open, stat, truncate } from 'node:fs/promises'
import type { Loop } from '../loop.ts'

const LOG_BYTES_MAX = 10 * 1024 * 1024
const TRIM_EVERY_MS = 60_000
const TAIL_BYTES_MAX = 2048

export interface LogFile {
  fd: number
  /** Keeps the file within its bound. */
  loop: Loop
  /** Remembers the end of the file; `tail` reads the last lines written since, for an error message. */
  mark(): { tail(): Promise<string> }
  close(): void
}

export async function openLog(path: string): Promise<LogFile> {
  const fd = openSync(path, 'a', 0o600)
  await trimLog(path)

  return {
    fd,
    loop: {
      name: 'truncate-postgres-log',
      everyMs: TRIM_EVERY_MS,
      runOnce: () => trimLog(path).then(() => false),
    },
    mark() {
      const from = fstatSync(fd).size
      return { tail: () => readTail(path, from) }
    },
    close: () => closeSync(fd),
  }
}

/** At most twice the limit stays on disk: the file and the one before it. */
async function trimLog(path: string): Promise<void> {
  if ((await stat(path)).size <= LOG_BYTES_MAX) return
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

async function readTail(path: string, from: number): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const start = Math.max(from > size ? 0 : from, size - TAIL_BYTES_MAX)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES_MAX), 0, TAIL_BYTES_MAX, start)
    return buffer.toString('utf8', 0, bytesRead).trim()
  } finally {
    await file.close()
  }
}
