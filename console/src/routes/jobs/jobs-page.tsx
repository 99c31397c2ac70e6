import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Job } from '@reeve/sdk'
import { useState } from 'react'
import { Page } from '../../frame/page.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { shortId } from '../../parts/controls/copy.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Search, type SearchWord } from '../../parts/controls/search.tsx'
import { JOB_STATES, jobState, StateBadge } from '../../parts/data/state-badge.tsx'
import { useSelection } from '../../parts/data/table-selection.ts'
import { Table, type Column } from '../../parts/data/table.tsx'
import { Duration, Time } from '../../parts/data/time.tsx'
import { parseWords, withWord } from '../../parts/controls/words.ts'
import { client } from '../../session/client.ts'
import { Bulk } from './bulk.tsx'
import { filterOf, STATES, wordOf, WORDS } from './filter.ts'
import { useJobList } from './job-list.ts'
import { jobsRoute } from './routes.ts'

export function JobsPage() {
  const { q = '' } = jobsRoute.useSearch()
  const navigate = useNavigate()
  const [isAtTop, setAtTop] = useState(true)
  const { filter, problem } = filterOf(q)
  const list = useJobList(filter, isAtTop)
  const selection = useSelection()
  const search = (next: string) => {
    selection.clear()
    void navigate({ to: '/console/jobs', search: next === '' ? {} : { q: next }, replace: true })
  }
  return (
    <Page title="Jobs" fills>
      <div className="flex flex-wrap items-center gap-3 pb-3">
        <Search label="Search jobs" value={q} onChange={search} words={useSearchWords()} />
        <StateTabs q={q} onChange={search} />
      </div>
      {problem !== null && (
        <p role="alert" className="pb-3 text-warn-fg">
          {problem}
        </p>
      )}
      <Bulk selection={selection} filter={filter} loaded={list.jobs.length} hasMore={list.hasMore} />
      {list.error !== null && (
        <ErrorBox title="The jobs could not be loaded" error={list.error} onRetry={list.reload} />
      )}
      <div className="relative flex min-h-0 flex-1 flex-col">
        {list.newCount !== 0 && (
          <Button
            look="main"
            className="absolute top-10 left-1/2 z-20 -translate-x-1/2 rounded-full"
            onClick={list.showNew}
          >
            {list.newCount === null ? 'Many new' : `${list.newCount} new`}
          </Button>
        )}
        <Table
          label="Jobs"
          className="flex-1"
          rows={list.jobs}
          columns={COLUMNS}
          rowKey={({ job_id: jobId }) => jobId}
          onOpen={({ job_id: jobId }) => void navigate({ to: '/console/jobs/$jobId', params: { jobId } })}
          isLoading={list.isLoading}
          hasMore={list.hasMore}
          onEnd={list.loadMore}
          selection={selection}
          place={`jobs ${q}`}
          onAtTop={setAtTop}
          empty={<NoJobs q={q} onClear={() => search('')} />}
        />
      </div>
    </Page>
  )
}

function StateTabs({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const { filter } = filterOf(q)
  const tabs = [{ state: null, label: 'All' }, ...STATES.map((state) => ({ state, label: JOB_STATES[state].word }))]
  return (
    <div role="group" aria-label="State" className="flex flex-wrap gap-1">
      {tabs.map(({ state, label }) => {
        const isChosen = (filter.state ?? null) === state
        return (
          <Button
            key={label}
            look={isChosen ? 'plain' : 'bare'}
            aria-pressed={isChosen}
            onClick={() => onChange(withWord(q, WORDS, 'state', state === null ? null : wordOf[state]))}
          >
            {label}
          </Button>
        )
      })}
    </div>
  )
}

function useSearchWords(): readonly SearchWord[] {
  const status = useQuery({
    queryKey: ['jobs', 'kinds'],
    queryFn: () => client.request<{ kinds: string[] }>('GET', '/admin/status'),
  })
  return [
    { name: 'state', about: 'waiting, running, done or dead', values: STATES.map((state) => wordOf[state]) },
    { name: 'kind', about: 'what is to be done', values: status.data?.kinds ?? [] },
    { name: 'reason', about: 'a part of why it is dead' },
    { name: 'worker', about: 'who holds or held it' },
    { name: 'account', about: 'the number of an account' },
    { name: 'trace', about: 'a trace id' },
    { name: 'priority', about: '0 to 9', values: ['9', '5', '0'] },
    { name: 'delayed', about: 'waits for its time or its next attempt', values: ['yes', 'no'] },
    { name: 'after', about: 'submitted after: 2h, 3d, 2026-01-31', values: ['15m', '1h', '24h', '7d'] },
    { name: 'before', about: 'submitted before: 2h, 3d, 2026-01-31', values: ['1h', '24h', '7d'] },
  ]
}

function NoJobs({ q, onClear }: { q: string; onClear: () => void }) {
  if (q === '')
    return <Empty title="No jobs yet">They appear here as soon as something is submitted at any door.</Empty>
  const { named } = parseWords(q, WORDS)
  return (
    <Empty title="No job matches" action={<Button onClick={onClear}>Show all jobs</Button>}>
      {named['kind'] === undefined ? 'Fewer words find more.' : 'Is the kind spelled as the door spells it?'}
    </Empty>
  )
}

const COLUMNS: readonly Column<Job>[] = [
  {
    head: 'Job',
    width: 'minmax(96px, 1.4fr)',
    cell: ({ job_id: jobId, kind }) => (
      <Link to="/console/jobs/$jobId" params={{ jobId }} tabIndex={-1} className="hover:underline" title={jobId}>
        <bdi className="font-medium">{kind}</bdi>{' '}
        <span className="font-mono text-[13px] text-quiet max-sm:hidden">{shortId(jobId)}</span>
      </Link>
    ),
  },
  { head: 'State', width: '112px', cell: (job) => <StateBadge {...jobState(job)} /> },
  {
    head: 'Why',
    width: 'minmax(120px, 2fr)',
    wideOnly: true,
    cell: ({ reason, lease_owner: owner }) => (
      <span className="text-quiet" dir="auto" title={reason ?? undefined}>
        {reason ?? owner ?? ''}
      </span>
    ),
  },
  {
    head: 'Attempts',
    width: '88px',
    align: 'right',
    wideOnly: true,
    cell: ({ attempt_id: attempts, max_attempts: max }) => (max === null ? attempts : `${attempts} of ${max}`),
  },
  {
    head: 'Took',
    width: '88px',
    align: 'right',
    wideOnly: true,
    cell: ({ started_at: from, finished_at: to, state }) =>
      from === null || state === 'pending' ? '–' : <Duration from={from} to={to} />,
  },
  { head: 'Submitted', width: '104px', align: 'right', cell: ({ submitted_at: at }) => <Time at={at} inList /> },
]
