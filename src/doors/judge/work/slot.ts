// A slot judges one submission at a time. It has a box runner for the contestant's program, another one for the problem's
// own programs (validators, interactors), and a folder for what passes between them.
//
//   io/       output of the contestant: never seen from the contestant's box
//   feedback/ what a validator writes; it is /work in the validator's box
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { truncateSync } from 'node:fs'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { newJobId } from '../../../core/random.ts'
import { Semaphore } from '../../../core/concurrency/semaphore.ts'
import { isMissing } from '../package/files.ts'
import type { BoxRunner } from '../sandbox/box.ts'
import { removeTree } from '../sandbox/remove-tree.ts'

/** Of a folder that programs with another user write to. */
const SHARED_MODE = 0o777

export interface Slot {
  io: string
  /** What one run writes, in io/. The next run empties them: that costs a tenth of what making and removing files does. */
  files: RunFiles
  feedback: string
  /** Compiles and runs the contestant's program. */
  main: BoxRunner
  /** Runs the problem's programs. Opened on first use. */
  side(): BoxRunner
  /** Two named pipes. */
  pipes(): Promise<{ toContestant: string; fromContestant: string }>
  close(): Promise<void>
}

export interface RunFiles {
  output: string
  errors: string
  validatorErrors: string
}

export interface Slots {
  /** Waits for a free one. */
  take(): Promise<Slot>
  /** A slot that failed is closed, and another one takes its place when it is needed. */
  give(slot: Slot, options: { failed: boolean }): Promise<void>
  close(): Promise<void>
}

export interface SlotOptions {
  folder: string
  count: number
  openRunner(): BoxRunner
}

export function openSlots({ folder, count, openRunner }: SlotOptions): Slots {
  const idle: Slot[] = []
  const all = new Set<Slot>()
  const places = new Semaphore({ permits: count })

  return {
    async take() {
      await places.acquire()
      try {
        const slot = idle.pop() ?? (await openSlot(join(folder, newJobId()), openRunner))
        all.add(slot)
        return slot
      } catch (error) {
        places.release()
        throw error
      }
    },
    async give(slot, { failed }) {
      if (failed) {
        all.delete(slot)
        await slot.close()
      } else {
        idle.push(slot)
      }
      places.release()
    },
    async close() {
      await Promise.all([...all].map((slot) => slot.close()))
    },
  }
}

async function openSlot(folder: string, openRunner: () => BoxRunner): Promise<Slot> {
  const io = join(folder, 'io')
  const feedback = join(folder, 'feedback')
  await mkdir(io, { recursive: true })
  await mkdir(feedback)
  await chmod(io, 0o755) // a validator reads here
  await chmod(feedback, SHARED_MODE) // and writes here
  const main = openRunner()
  let side: BoxRunner | null = null
  let pipes: Promise<void> | null = null
  const paths = { toContestant: join(folder, 'to-contestant'), fromContestant: join(folder, 'from-contestant') }

  return {
    io,
    files: {
      output: join(io, 'output'),
      errors: join(io, 'errors'),
      validatorErrors: join(io, 'validator-errors'),
    },
    feedback,
    main,
    side: () => (side ??= openRunner()),
    async pipes() {
      await (pipes ??= makePipes(Object.values(paths)))
      return paths
    },
    async close() {
      await main.close()
      await side?.close()
      await removeTree(folder)
    },
  }
}

/** Node cannot make one itself. */
async function makePipes(paths: readonly string[]): Promise<void> {
  const child = spawn('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('mkfifo failed.')
}

/** Those that are there. Synchronous, because each call takes microseconds and the thread pool would take longer. */
export function emptyFiles(files: RunFiles): void {
  for (const path of Object.values(files)) {
    try {
      truncateSync(path)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
}

export async function emptyFolder(folder: string): Promise<void> {
  await chmod(folder, SHARED_MODE) // a validator that has Reeve's user may have closed it
  for (const name of await readdir(folder)) await removeTree(join(folder, name))
}
