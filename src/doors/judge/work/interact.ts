// An interactive problem: the contestant and the interactor run at the same time, each in its box, and speak through two
// pipes. This process holds both ends of both pipes and closes them one by one, so that the order of the two ends does not
// depend on luck: neither program learns of the other's end before this process does.
//
//   contestant ends      → the interactor reads to the end of file; what it still writes is discarded
//   interactor ends, AC  → the contestant reads to the end of file; what it still writes is discarded
//   interactor ends, WA  → the contestant reads to the end of file, and its writes fail
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import type { RunReport } from '../sandbox/box.ts'
import { contestantRun, contestantWallMs, validatorRun, type TestRun } from './test-run.ts'
import { runOnce } from './box-run.ts'
import type { RunFiles } from './slot.ts'

export interface Interaction {
  contestant: RunReport
  interactor: RunReport
  first: 'contestant' | 'interactor'
  starved: boolean
}

const ACCEPTING = new Set([0, 42])

export async function interact(
  testRun: TestRun,
  args: readonly string[],
  { keepsErrors, files }: { keepsErrors: boolean; files: RunFiles },
): Promise<Interaction> {
  const { scope, slot, contestantBox, validatorBox, validator } = testRun
  if (validatorBox === null || validator === null) throw new Error('An interactive problem has an interactor.')
  const paths = await slot.pipes()
  const toContestant = holdPipe(paths.toContestant)
  const fromContestant = holdPipe(paths.fromContestant)
  try {
    let first: Interaction['first'] | null = null
    const interactor = runOnce(
      scope,
      validatorBox,
      validatorRun(testRun, validator, {
        args,
        whileMs: contestantWallMs(testRun),
        pipes: {
          stdinPath: paths.fromContestant,
          stdoutPath: paths.toContestant,
          stderrPath: files.validatorErrors,
        },
      }),
    ).then((report) => {
      first ??= 'interactor'
      toContestant.closeWriter()
      if (ACCEPTING.has(report.exitCode) && report.exitSignal === 0) fromContestant.drain()
      else fromContestant.closeReader()
      return report
    })
    const contestant = runOnce(
      scope,
      contestantBox,
      contestantRun(testRun, {
        stdinPath: paths.toContestant,
        stdoutPath: paths.fromContestant,
        stderrPath: keepsErrors ? files.errors : null,
      }),
    ).then((report) => {
      first ??= 'contestant'
      fromContestant.closeWriter()
      toContestant.drain()
      return report
    })
    const [left, right] = await bothSettled(contestant, interactor)
    return { contestant: left, interactor: right, first: first ?? 'contestant', starved: left.starved || right.starved }
  } finally {
    toContestant.close()
    fromContestant.close()
  }
}

/** Neither is left running when the other one throws. */
async function bothSettled<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b])
  return [await a, await b]
}

interface HeldPipe {
  closeWriter(): void
  closeReader(): void
  /** Reads and discards what still comes, so that the writer does not block. */
  drain(): void
  close(): void
}

/** The reader first: a writer cannot be opened without one, and neither waits for the other side. */
function holdPipe(path: string): HeldPipe {
  let reader: number | null = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let writer: number | null = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  let drained: Socket | null = null
  const closeWriter = () => {
    if (writer !== null) closeSync(writer)
    writer = null
  }
  const closeReader = () => {
    if (reader !== null) closeSync(reader)
    reader = null
  }
  return {
    closeWriter,
    closeReader,
    drain() {
      if (reader === null) return
      drained = new Socket({ fd: reader, readable: true, writable: false })
      drained.on('error', () => {}).resume()
      reader = null
    },
    close() {
      closeWriter()
      closeReader()
      drained?.destroy()
    },
  }
}
