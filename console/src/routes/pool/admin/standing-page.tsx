// For admins: why a worker stands as it does, and its ban.
import type { PoolStandingStory } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { isStatus } from '../../../session/errors.ts'
import { STANDING, workerState } from '../pool-words.ts'
import { standingRoute } from '../routes.ts'
import { useRecords, withRecord } from './all-workers.ts'
import { BanButton } from './ban.tsx'
import { isolated } from '../../../parts/text/isolated.ts'

const CRUMBS = [{ label: 'Pool', to: '/console/pool/all' }]
const ACTIONS: Readonly<Record<string, string>> = { ban: 'Banned', unban: 'Ban lifted', set_key: 'Key set' }

export function StandingPage() {
  const workerId = Number(standingRoute.useParams().workerId)
  const story = useQuery({
    queryKey: ['pool', 'standing', workerId],
    queryFn: () => client.poolAdmin.worker(workerId),
    refetchOnMount: 'always',
  })
  const records = useRecords(story.data === undefined ? [] : [workerId])
  if (story.data !== undefined) {
    return <Shown worker={withRecord(story.data, records.get(workerId))} onChanged={() => story.refetch()} />
  }
  return (
    <Page title={`Worker ${workerId}`} crumbs={CRUMBS}>
      {story.isPending && <Skeleton lines={6} />}
      {isStatus(story.error, 404) && <Empty title="There is no such worker" />}
      {story.isError && !isStatus(story.error, 404) && (
        <ErrorBox title="The worker could not be loaded" error={story.error} onRetry={() => void story.refetch()} />
      )}
    </Page>
  )
}

function Shown({ worker, onChanged }: { worker: PoolStandingStory; onChanged: () => Promise<unknown> }) {
  return (
    <Page
      title={worker.name}
      crumbs={CRUMBS}
      aside={<StateBadge {...workerState(worker)} />}
      actions={<BanButton worker={worker} onChanged={onChanged} />}
    >
      {worker.standing === 'banned' && (
        <p className="mb-4 max-w-[100ch] rounded-md bg-bad-bg px-3 py-2 wrap-anywhere text-bad-fg" dir="auto">
          Banned <Time at={worker.banned_at} />: {worker.ban_reason ?? 'its results were wrong'}
        </p>
      )}
      <Facts>
        <Fact name="Worker">{worker.worker_id}</Fact>
        <Fact name="Owner">
          <span dir="auto">{worker.owner ?? `account ${worker.owner_user_id}, deleted`}</span>
        </Fact>
        <Fact name="Registered">
          <Time at={worker.registered_at} />
        </Fact>
        <Fact name="Last seen">
          <Time at={worker.last_seen_at} />
        </Fact>
        <Fact name="Standing">
          <StateBadge {...STANDING[worker.standing]} />
        </Fact>
        <Fact name="Reputation">{worker.reputation.toFixed(2)} of 1</Fact>
        <Fact name="Completed">{number(worker.completed)}</Fact>
        <Fact name="Failed">{number(worker.failed)}</Fact>
        <Fact name="Leases lost">{number(worker.lost)}</Fact>
        <Fact name="Canaries">
          {number(worker.canaries_passed)} passed, {number(worker.canaries_wrong)} wrong
        </Fact>
        <Fact name="With other workers">
          {number(worker.agreed)} agreed, {number(worker.disagreed)} disagreed
        </Fact>
        <Fact name="Passed since it disagreed">{number(worker.proven)}</Fact>
      </Facts>
      <h2 className="mt-6 mb-2 text-lead font-semibold">History</h2>
      <History audit={worker.audit} />
    </Page>
  )
}

function History({ audit }: Pick<PoolStandingStory, 'audit'>) {
  if (audit.length === 0) return <p className="text-quiet">It was never banned, and its key was never replaced.</p>
  return (
    <ol aria-label="History" className="max-w-3xl">
      {audit.map(({ action, reason, actor, created_at: at }) => (
        <li key={at} className="flex flex-wrap gap-x-4 border-t border-line py-2">
          <span className="font-medium">{ACTIONS[action] ?? action}</span>
          <span className="min-w-0 flex-1 wrap-anywhere" dir="auto">
            {reason ?? ''}
          </span>
          <span className="text-quiet">
            {actor === null ? 'by the server' : `by ${isolated(actor)}`}, <Time at={at} inList />
          </span>
        </li>
      ))}
    </ol>
  )
}
