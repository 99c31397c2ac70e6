// Does this server work, what does it run on, and with which settings?
import type { JobState, ServerReadiness, ServerStatus } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { age, bytes, number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge, type Stated } from '../../../parts/data/state-badge.tsx'
import { client } from '../../../session/client.ts'
import { AdminTabs } from '../tabs.tsx'
import { SettingsInForce } from './settings-in-force.tsx'

const DISK_FREE_MIN = 0.1

export function HealthPage() {
  const health = useQuery({
    queryKey: ['admin', 'health'],
    queryFn: async () => {
      const [readiness, status] = await Promise.all([client.admin.readiness(), client.admin.status()])
      return { readiness, status }
    },
    staleTime: 0,
  })
  return (
    <Page
      title="Admin"
      tabTitle="Health"
      actions={
        <Button icon="replay" isBusy={health.isFetching} onClick={() => void health.refetch()}>
          Check again
        </Button>
      }
    >
      <AdminTabs />
      {health.isPending && <Skeleton lines={6} />}
      {health.isError && (
        <ErrorBox
          title="The state of the server could not be loaded"
          error={health.error}
          onRetry={() => void health.refetch()}
        />
      )}
      {health.data !== undefined && (
        <>
          <Checks readiness={health.data.readiness} disk={health.data.status.disk} />
          <Facts status={health.data.status} />
        </>
      )}
      <SettingsInForce />
    </Page>
  )
}

const OVERALL: Readonly<Record<ServerReadiness['status'], Stated>> = {
  ready: { tone: 'good', word: 'Ready' },
  draining: { tone: 'warn', word: 'Stopping' },
  unavailable: { tone: 'bad', word: 'Not ready' },
}
const PARTS: Readonly<Record<string, string>> = { database: 'Database', feed: 'Feed', files: 'Files' }

function Checks({ readiness: { status, checks }, disk }: { readiness: ServerReadiness } & Pick<ServerStatus, 'disk'>) {
  return (
    <ul aria-label="Checks" className="flex flex-wrap gap-x-8 gap-y-3">
      <Checked name="Server" state={OVERALL[status]} />
      {Object.entries(checks).map(([part, state]) => (
        <Checked
          key={part}
          name={PARTS[part] ?? part}
          state={state === 'ok' ? { tone: 'good', word: 'Works' } : { tone: 'bad', word: 'Failed' }}
        />
      ))}
      {disk !== null && <Checked name="Disk" state={diskState(disk)} />}
    </ul>
  )
}

function Checked({ name, state }: { name: string; state: Stated }) {
  return (
    <li className="flex items-center gap-2">
      <span className="text-quiet">{name}</span>
      <StateBadge {...state} />
    </li>
  )
}

const diskState = ({ free_bytes: free, total_bytes: total }: NonNullable<ServerStatus['disk']>): Stated => ({
  tone: free / total < DISK_FREE_MIN ? 'bad' : 'good',
  word: `${Math.floor((free / total) * 100)} % free`,
})

function Facts({ status }: { status: ServerStatus }) {
  const { storage, disk } = status
  const count = (state: JobState) =>
    number(status.jobs.reduce((sum, job) => (job.state === state ? sum + job.count : sum), 0))
  const facts: readonly (readonly [string, string])[] = [
    ['Version', `${status.version}, Node.js ${status.node}`],
    ['Running for', age(status.uptime_sec * 1000)],
    ['Open doors', status.doors.join(', ')],
    ['Database', storage.database],
    ['Feed', storage.feed],
    ['Files', storage.files],
    ['Disk', disk === null ? 'unknown' : `${bytes(disk.free_bytes)} of ${bytes(disk.total_bytes)} free`],
    ['WebSockets', number(status.websockets)],
    ['Jobs', `${count('pending')} waiting, ${count('processing')} running, ${count('dead')} dead`],
  ]
  return (
    <dl className="mt-6 grid max-w-3xl grid-cols-[max-content_1fr] gap-x-6 gap-y-1.5">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
