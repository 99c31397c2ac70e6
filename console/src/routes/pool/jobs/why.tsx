// What keeps a job waiting, with the workers that each rule leaves.
import type { PoolWhy } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { number } from '../../../clock/format.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'

export function Why({ jobId }: { jobId: string }) {
  const why = useQuery({ queryKey: ['pool', 'job', jobId, 'why'], queryFn: () => client.pool.why(jobId) })
  if (why.isError) {
    return <ErrorBox title="The reason could not be loaded" error={why.error} onRetry={() => void why.refetch()} />
  }
  if (why.data === undefined) return <Skeleton lines={2} />
  const { reasons, workers, status } = why.data
  return (
    <section aria-label="Why it waits" className="mb-6 max-w-3xl rounded-md border border-line p-4">
      <div className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1">
          <h2 className="font-semibold">{status === 'running' ? 'It is being worked on' : 'Why it waits'}</h2>
          {reasons.map((reason) => (
            <p key={reason} className="break-words" dir="auto">
              {reason}
            </p>
          ))}
        </div>
        <Button icon="replay" isBusy={why.isFetching} onClick={() => void why.refetch()}>
          Look again
        </Button>
      </div>
      {status !== 'running' && <Counts workers={workers} />}
      <p className="mt-2 text-small text-quiet">
        As of <Time at={new Date(why.dataUpdatedAt).toISOString()} />
      </p>
    </section>
  )
}

function Counts({ workers }: { workers: PoolWhy['workers'] }) {
  const shown: readonly (readonly [string, number])[] = [
    ['Registered', workers.registered],
    ['Online', workers.online],
    ['In its region', workers.in_region],
    ['With its specs', workers.with_specs],
    ['Idle', workers.idle],
  ]
  return (
    <dl aria-label="Workers" className="mt-3 grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-5">
      {shown.map(([name, count]) => (
        <div key={name}>
          <dt className="text-small text-quiet">{name}</dt>
          <dd className="text-title font-semibold">{number(count)}</dd>
        </div>
      ))}
    </dl>
  )
}
