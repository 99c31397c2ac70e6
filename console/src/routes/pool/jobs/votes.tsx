// What each worker of a replicated job said.
import type { PoolJob } from '@reeve/sdk'
import { Copy } from '../../../parts/controls/copy.tsx'
import { StateBadge, type Stated } from '../../../parts/data/state-badge.tsx'

const HASH_SHOWN = 12

const VERDICTS: Readonly<Record<string, Stated>> = {
  agreed: { tone: 'good', word: 'Agreed' },
  disagreed: { tone: 'bad', word: 'Disagreed' },
}
const UNDECIDED: Stated = { tone: 'quiet', word: 'Undecided' }

export function Votes({ votes }: Pick<PoolJob, 'votes'>) {
  return (
    <>
      <h2 className="mt-6 mb-2 text-lead font-semibold">What its workers said</h2>
      <ul aria-label="Votes" className="max-w-3xl">
        {votes.map(({ assignment_id: id, worker_id: worker, status, output_hash: hash, verdict }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line py-1.5">
            <span className="w-28">Worker {worker}</span>
            <StateBadge {...(VERDICTS[verdict ?? ''] ?? UNDECIDED)} />
            {status === 'failed' && <span className="text-quiet">It failed</span>}
            {hash !== null && <Copy text={hash} shown={`${hash.slice(0, HASH_SHOWN)}…`} label="output hash" />}
          </li>
        ))}
      </ul>
    </>
  )
}
