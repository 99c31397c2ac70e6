// What docs/performance.md promises of submissions, on 2 quiet cores. `--check` fails where a figure is worse.
import { above, below } from '../promised.ts'
import { percentile } from '../statistics.ts'
import { C_BEFORE, C_EACH, CPP_EACH, PYTHON } from './ways.ts'

interface Promised {
  /** At least. */
  perSecond: number
  /** At most: one alone. */
  aloneMs: number
  /** At most: the time of a submission to that of its compiler, or of the starts of its interpreter. */
  toFloor?: number
  /** At most: by how much longer a submission takes that is compiled, to the time of its compiler. */
  compilingToFloor?: number
  /** At least: the share of time for which slots have a box. */
  inBox?: number
}

const PROMISED: Readonly<Record<string, Promised>> = {
  [C_BEFORE]: { perSecond: 105, aloneMs: 20, inBox: 0.75 },
  [C_EACH]: { perSecond: 27, aloneMs: 70, toFloor: 1.8, compilingToFloor: 1.2 },
  [CPP_EACH]: { perSecond: 7, aloneMs: 280, toFloor: 1.2 },
  [PYTHON]: { perSecond: 18, aloneMs: 100, toFloor: 1.2 },
}

export interface Figures {
  name: string
  perSecond: readonly number[]
  aloneMs: readonly number[]
  /** Empty: there is nothing to compare it with. */
  toFloor: readonly number[]
  /** Empty: nothing was compiled, or it was not measured beside the same program compiled before. */
  compilingToFloor: readonly number[]
  inBox: readonly number[]
}

/** One sentence for each figure that is worse than promised. */
export const missed = (measured: readonly Figures[]): string[] =>
  measured.flatMap(({ name, perSecond, aloneMs, toFloor, compilingToFloor, inBox }) => {
    const promised = PROMISED[name]
    if (promised === undefined) return []
    return [
      ...below(`${name}, submissions/s`, percentile(perSecond, 50), promised.perSecond),
      ...above(`${name}, one alone, ms`, percentile(aloneMs, 50), promised.aloneMs),
      ...(promised.toFloor === undefined
        ? []
        : above(`${name}, times its floor`, percentile(toFloor, 50), promised.toFloor)),
      ...(promised.compilingToFloor === undefined || compilingToFloor.length === 0
        ? []
        : above(`${name}, compiling to the compiler`, percentile(compilingToFloor, 50), promised.compilingToFloor)),
      ...(promised.inBox === undefined
        ? []
        : below(`${name}, share of time in a box`, percentile(inBox, 50), promised.inBox)),
    ]
  })
