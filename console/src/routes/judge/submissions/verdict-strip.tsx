// One square per test, filling as results come. Colour never alone: each has its mark, and its name is read out.
import type { JudgeVerdict, SubmissionTest } from '@reeve/sdk'
import { Icon, type IconName } from '../../../parts/icon.tsx'
import { TONE_CLASS } from '../../../parts/data/state-badge.tsx'
import { memory, milliseconds, VERDICTS } from './verdicts.ts'
import { isolated } from '../../../parts/text/isolated.ts'

const SQUARES_MAX = 400

const MARKS: Readonly<Record<JudgeVerdict, IconName>> = {
  AC: 'check',
  WA: 'cross',
  TLE: 'wait',
  MLE: 'pool',
  OLE: 'more',
  RE: 'warn',
  CE: 'warn',
  SE: 'info',
}

interface StripProps {
  tests: readonly SubmissionTest[]
  /** Of which not all have run yet, or ever will. */
  total: number
}

export function VerdictStrip({ tests, total }: StripProps) {
  const left = Math.max(0, Math.min(total, SQUARES_MAX) - tests.length)
  return (
    <ol aria-label="Tests" className="flex flex-wrap gap-1">
      {tests.slice(0, SQUARES_MAX).map((test) => (
        <Square key={test.name} test={test} />
      ))}
      {Array.from({ length: left }, (_, n) => (
        <li key={`left ${n}`} className="size-6 rounded-sm border border-line">
          <span className="sr-only">not run</span>
        </li>
      ))}
      {total > SQUARES_MAX && <li className="self-center text-quiet">and {total - SQUARES_MAX} more</li>}
    </ol>
  )
}

function Square({ test }: { test: SubmissionTest }) {
  const { tone, word } = VERDICTS[test.verdict]
  const about = `${isolated(test.name)}: ${word}, ${milliseconds(test.time_ms)}, ${memory(test.mem_kb)}`
  return (
    <li title={about} className={`grid size-6 place-items-center rounded-sm ${TONE_CLASS[tone]}`}>
      <Icon name={MARKS[test.verdict]} className="size-3" />
      <span className="sr-only">{about}</span>
    </li>
  )
}
