// Every test with its verdict, time and memory; a sample opens to show what it was about.
import type { SubmissionTest } from '@reeve/sdk'
import { Icon } from '../../../parts/icon.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { SampleDifference } from './sample-difference.tsx'
import { memory, milliseconds, VERDICTS } from './verdicts.ts'

const SHOWN_MAX = 1000

export function Tests({ tests }: { tests: readonly SubmissionTest[] }) {
  if (tests.length === 0) return null
  return (
    <section aria-label="Every test">
      <h2 className="pb-2 font-medium">Tests</h2>
      <ul className="divide-y divide-line border-y border-line">
        {tests.slice(0, SHOWN_MAX).map((test) => (
          <li key={test.name} className="py-1.5">
            {test.input === undefined ? (
              <span className="flex pl-5">
                <Line test={test} />
              </span>
            ) : (
              <details className="group/test">
                <summary className="flex list-none items-center rounded-sm">
                  <Icon name="right" className="mr-1 transition-transform group-open/test:rotate-90" />
                  <Line test={test} />
                </summary>
                <div className="py-2 pl-5">
                  <SampleDifference test={test} />
                </div>
              </details>
            )}
          </li>
        ))}
      </ul>
      {tests.length > SHOWN_MAX && <p className="pt-2 text-quiet">and {tests.length - SHOWN_MAX} more</p>}
    </section>
  )
}

function Line({ test: { name, verdict, time_ms: ms, mem_kb: kb } }: { test: SubmissionTest }) {
  return (
    <span className="flex w-full min-w-0 items-center gap-3">
      <span className="min-w-0 flex-1 truncate">{name}</span>
      <StateBadge {...VERDICTS[verdict]} />
      <span className="w-16 text-right text-quiet">{milliseconds(ms)}</span>
      <span className="w-16 text-right text-quiet max-sm:hidden">{memory(kb)}</span>
    </span>
  )
}
