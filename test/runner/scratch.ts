// Where the tests of a run keep what they write, and how the runner sees what a test file left behind: every file of tests has a
// temporary folder of its own, and every process that it starts inherits a mark in its environment.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const MARK = 'REEVE_TEST_FILE'
const LOOK_MS = 50
const LOOKS_MAX = 100 // a process that was killed takes a moment to go

export interface Scratch {
  /** A folder for what the files of a run share. */
  shared: string
  /** For one file of tests. */
  open(): Place
  close(): void
}

export interface Place {
  env: Record<string, string>
  /** What is still there now that the file has ended, in words. It is removed. */
  clear(): Promise<string[]>
}

export function openScratch(): Scratch {
  const root = mkdtempSync(join(tmpdir(), 'rt-')) // a Unix socket's path has room for 107 bytes
  chmodSync(root, 0o755) // tests run programs as other users
  const shared = join(root, 'shared')
  mkdirSync(shared)
  let places = 0
  return {
    shared,
    open() {
      places += 1
      const folder = join(root, String(places))
      mkdirSync(folder)
      const mark = `${root}#${places}`
      return {
        env: { TMPDIR: folder, [MARK]: mark },
        async clear() {
          const processes = (await processesLeft(mark)).map((pid) => `the process ${pid} (${commandOf(pid)})`)
          const files = readdirSync(folder).map((name) => `${name} in the temporary folder`)
          rmSync(folder, { recursive: true, force: true })
          return [...processes, ...files]
        },
      }
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** They are ended here. Where there is no /proc nobody looks. */
async function processesLeft(mark: string): Promise<number[]> {
  let left = marked(mark)
  for (let look = 0; left.length > 0 && look < LOOKS_MAX; look += 1) {
    await sleep(LOOK_MS)
    left = marked(mark)
  }
  for (const pid of left) kill(pid)
  return left
}

const marked = (mark: string): number[] =>
  list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`${MARK}=${mark}`))
    .map(Number)

const commandOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // it has ended, or it is somebody else's
  }
}
